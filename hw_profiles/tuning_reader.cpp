#include "hw_profiles/tuning_reader.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw_profiles/catalog.hpp"

namespace twinstep::hw_profiles {
namespace {

using io::Node;

/// "2.27.7", or with what a package adds to it: "2.27.7-1", "2.27.7+cuda12.9".
struct Version {
  std::array<int, 3> parts{};
  auto operator<=>(Version const&) const = default;
};

std::optional<Version> parse_version(std::string_view text) {
  auto version = Version{};
  auto const* at = text.data();
  auto const* const end = at + text.size();
  for (std::size_t i = 0; i < version.parts.size(); ++i) {
    auto const [next, error] = std::from_chars(at, end, version.parts[i]);
    if (error != std::errc{} || version.parts[i] < 0) return std::nullopt;
    at = next;
    if (at == end || *at == '-' || *at == '+') return i == 0 ? std::nullopt : std::optional{version};
    if (*at != '.') return std::nullopt;
    ++at;
  }
  return std::nullopt;
}

/// Requires the one unit that the numbers of a table have.
void expect_unit(Node const& table, std::string_view expected) {
  auto const unit = table.at("unit");
  if (unit.string() != expected)
    unit.fail(fmt::format("found {}, expected {}", quoted(unit.string()), quoted(expected)), "convert the numbers");
}

double number_up_to_a_million(Node const& node) {
  auto const value = node.number();
  if (value < 0 || value > 1e6)
    node.fail(fmt::format("found {}, expected a number between zero and a million", value), "correct it");
  return value;
}

Duration microseconds(Node const& node) {
  return Duration{std::llround(number_up_to_a_million(node) * 1e6)};
}

BytesPerSecond gigabytes_per_second(Node const& node) {
  return BytesPerSecond{number_up_to_a_million(node) * 1e9};
}

/// The elements of an array that has as many as `out`.
template <class Out, class Read>
void read_row(Node const& node, Out& out, Read read) {
  auto const elements = node.elements();
  if (elements.size() != out.size())
    node.fail(fmt::format("found {} numbers, expected {}", elements.size(), out.size()), "give one for each column");
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = read(elements[i]);
}

/// The members of an object that are named by the first values of an enumeration.
template <class Enum, class Out, class Read>
void read_named(Node const& node, Out& out, Read read) {
  for (std::size_t i = 0; i < out.size(); ++i) read(node.at(EnumNames<Enum>::values[i]), out[i]);
}

hardware::ByAlgorithm<Duration> latencies(Node const& node) {
  auto result = hardware::ByAlgorithm<Duration>{};
  read_named<hardware::Algorithm>(node, result, [](Node const& row, auto& out) { read_row(row, out, microseconds); });
  return result;
}

hardware::ByArchitecture<hardware::ByNodes<BytesPerSecond>> rates(Node const& node) {
  auto result = hardware::ByArchitecture<hardware::ByNodes<BytesPerSecond>>{};
  read_named<hardware::Architecture>(node, result,
                                     [](Node const& row, auto& out) { read_row(row, out, gigabytes_per_second); });
  return result;
}

std::vector<BytesPerSecond> falling_rates(Node const& node) {
  auto result = std::vector<BytesPerSecond>{};
  for (auto const& element : node.elements()) {
    auto const rate = gigabytes_per_second(element);
    if (rate.count() == 0 || (!result.empty() && rate >= result.back()))
      element.fail("found a speed that is not below the one before it, expected falling speeds", "sort them");
    result.push_back(rate);
  }
  if (result.empty()) node.fail("found no speed, expected one at least", "add one");
  return result;
}

hardware::GraphSearch::LinkRate link_rate(Node const& node) {
  node.allow_only({"from_capability", "datasheet", "counted"});
  auto const rate = hardware::GraphSearch::LinkRate{.from_capability = node.at("from_capability").integer_from(0),
                                                    .datasheet = gigabytes_per_second(node.at("datasheet")),
                                                    .counted = gigabytes_per_second(node.at("counted"))};
  if (rate.datasheet.count() == 0) node.fail("found a link of no bandwidth, expected its datasheet rate", "add it");
  return rate;
}

hardware::GraphSearch graph_search(Node const& node) {
  node.allow_only({"unit", "within_nodes", "between_nodes", "nvlink", "pcie", "sockets", "intel_pcie_share",
                   "most_channels", "nvls_ctas", "rings_grow_to_nvls_ctas"});
  expect_unit(node, "GB/s");
  auto const sockets = node.at("sockets");
  sockets.allow_only({"intel", "amd", "other"});
  auto search = hardware::GraphSearch{};
  search.pcie = link_rate(node.at("pcie"));
  search.intel_pcie_share = number_up_to_a_million(node.at("intel_pcie_share"));
  search.socket_intel = gigabytes_per_second(sockets.at("intel"));
  search.socket_amd = gigabytes_per_second(sockets.at("amd"));
  search.socket_other = gigabytes_per_second(sockets.at("other"));
  search.most_channels = node.at("most_channels").integer_from(1);
  search.rings_grow_to_nvls_ctas = node.at("rings_grow_to_nvls_ctas").boolean();
  read_named<hardware::Architecture>(node.at("within_nodes"), search.speeds,
                                     [](Node const& row, auto& out) { out.within_nodes = falling_rates(row); });
  read_named<hardware::Architecture>(node.at("between_nodes"), search.speeds,
                                     [](Node const& row, auto& out) { out.between_nodes = falling_rates(row); });
  for (auto const& [name, link] : node.at("nvlink").members()) {
    search.nvlink.push_back(link_rate(link));
    if (search.nvlink.size() > 1 &&
        search.nvlink.back().from_capability <= search.nvlink[search.nvlink.size() - 2].from_capability)
      link.fail("found links out of order, expected rising capabilities", "sort them");
  }
  read_named<hardware::Architecture>(node.at("nvls_ctas"), search.nvls_ctas, [](Node const& row, auto& out) {
    read_row(row, out, [](Node const& each) { return each.integer_from(0); });
  });
  return search;
}

void read_latencies(Node const& node, hardware::Tuning& tuning) {
  node.allow_only({"unit", "base", "nvlink", "pcie", "network", "net_overhead"});
  expect_unit(node, "us");
  tuning.base_latency = latencies(node.at("base"));
  tuning.nvlink_latency = latencies(node.at("nvlink"));
  tuning.pcie_latency = latencies(node.at("pcie"));
  tuning.network_latency = latencies(node.at("network"));
  auto const overhead = node.at("net_overhead");
  overhead.allow_only({"intel", "amd", "other"});
  tuning.net_overhead_intel = microseconds(overhead.at("intel"));
  tuning.net_overhead_amd = microseconds(overhead.at("amd"));
  tuning.net_overhead_other = microseconds(overhead.at("other"));
}

void read_bandwidths(Node const& node, hardware::Tuning& tuning) {
  node.allow_only({"unit", "ll_limit", "ring_ll128_per_channel", "tree_ll128_per_channel", "tree_per_channel",
                   "nvls_tree_per_channel"});
  expect_unit(node, "GB/s");
  tuning.ll_limit = rates(node.at("ll_limit"));
  tuning.ring_ll128_per_channel = rates(node.at("ring_ll128_per_channel"));
  tuning.tree_ll128_per_channel = rates(node.at("tree_ll128_per_channel"));
  tuning.tree_per_channel = rates(node.at("tree_per_channel"));
  tuning.nvls_tree_per_channel = rates(node.at("nvls_tree_per_channel"));
}

void read_shares(Node const& node, hardware::Tuning& tuning) {
  node.allow_only(
      {"ring_ll_reducing", "ring_ll_copying", "lone_rank_ring_ll128", "nvls_efficiency", "tree_correction"});
  tuning.ring_ll_share_reducing = number_up_to_a_million(node.at("ring_ll_reducing"));
  tuning.ring_ll_share_copying = number_up_to_a_million(node.at("ring_ll_copying"));
  tuning.lone_rank_ring_ll128_share = number_up_to_a_million(node.at("lone_rank_ring_ll128"));
  read_named<hardware::Architecture>(node.at("nvls_efficiency"), tuning.nvls_efficiency,
                                     [](Node const& each, double& out) { out = number_up_to_a_million(each); });
  read_named<hardware::Protocol>(node.at("tree_correction"), tuning.tree_correction,
                                 [](Node const& row, auto& out) { read_row(row, out, number_up_to_a_million); });
}

void read_rules(Node const& node, hardware::Tuning& tuning) {
  node.allow_only({"nvls_model", "lone_rank_has_tree_latency", "ring_crosses_every_node_twice", "corrects_nvls_tree",
                   "has_pat", "has_strict_masks"});
  tuning.nvls_model = node.at("nvls_model").word<hardware::NvlsModel>();
  tuning.lone_rank_has_tree_latency = node.at("lone_rank_has_tree_latency").boolean();
  tuning.ring_crosses_every_node_twice = node.at("ring_crosses_every_node_twice").boolean();
  tuning.corrects_nvls_tree = node.at("corrects_nvls_tree").boolean();
  tuning.has_pat = node.at("has_pat").boolean();
  tuning.has_strict_masks = node.at("has_strict_masks").boolean();
}

/// What all entries up to one say together.
hardware::Tuning read_entry(Node const& entry) {
  entry.allow_only({"from", "source", "latencies", "bandwidths", "shares", "rules", "search"});
  auto tuning = hardware::Tuning{};
  tuning.from_version = entry.at("from").string();
  tuning.search = graph_search(entry.at("search"));
  read_latencies(entry.at("latencies"), tuning);
  read_bandwidths(entry.at("bandwidths"), tuning);
  read_shares(entry.at("shares"), tuning);
  read_rules(entry.at("rules"), tuning);
  return tuning;
}

/// The versions of all entries, which have to rise.
std::vector<Version> versions_of(std::vector<Node> const& entries) {
  auto versions = std::vector<Version>{};
  for (auto const& entry : entries) {
    auto const from = entry.at("from");
    auto const version = parse_version(from.string());
    if (!version || (!versions.empty() && *version <= versions.back()))
      from.fail(fmt::format("found {}, expected rising versions such as \"2.27.3\"", quoted(from.string())),
                "sort them");
    versions.push_back(*version);
  }
  return versions;
}

[[noreturn]] void fail_version(std::vector<Node> const& entries, std::string_view version) {
  auto names = std::vector<std::string_view>{};
  for (auto const& entry : entries) names.push_back(entry.at("from").string());
  throw InputError{
      fmt::format("library version: found {}, expected one such as \"{}\", {} or newer; the constants change with {}",
                  quoted(version), names.back(), names.front(), fmt::join(names, ", "))};
}

}  // namespace

hardware::Tuning read_tuning(Node const& versions, std::string_view version) {
  auto const entries = versions.elements();
  if (entries.empty()) versions.fail("found no version, expected one at least", "add one");
  auto const known = versions_of(entries);
  auto const wanted = version.empty() ? std::optional{known.back()} : parse_version(version);
  if (!wanted || *wanted < known.front()) fail_version(entries, version);
  auto merged = entries.front();
  for (std::size_t i = 1; i < entries.size() && known[i] <= *wanted; ++i) merged = io::merge(merged, entries[i]);
  return read_entry(merged);
}

hardware::Tuning read_named_tuning(Node const& name, std::string_view version) {
  if (name.string() == "none") return {};
  auto const document = io::parse({tuning_file(name.string()), std::string{tuning_text(name)}});
  return read_tuning(document.at("versions"), version);
}

std::optional<hardware::Tuning> tuning_of(std::string const& version) {
  try {
    return read_named_tuning(io::string_node("nccl", "library"), version);
  } catch (InputError const&) {
    return std::nullopt;  // older than the table
  }
}

}  // namespace twinstep::hw_profiles
