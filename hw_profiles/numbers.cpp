#include "hw_profiles/numbers.hpp"

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::hw_profiles {

using io::Node;

namespace {

constexpr double kLargestFactor = 1e9;
constexpr double kSmallestFraction = 1e-9;
constexpr double kSlowestRate = 0.125;                    ///< a second: one bit
constexpr double kFastestRate = 1e24;                     ///< a second
constexpr Duration kLongestDelay{3'600'000'000'000'000};  ///< an hour
constexpr std::int64_t kMostNodes = 1'000'000;
constexpr std::int64_t kMostInNode = 1'024;  ///< GPUs, NICs: some thousand times a thousand routes are found

double no_larger(Node const& node, double value) {
  if (value > kLargestFactor)
    node.fail(fmt::format("found {}, expected a number up to {}", value, kLargestFactor), "lower it");
  return value;
}

std::int64_t count_up_to(Node const& node, std::int64_t most) {
  auto const value = node.integer_from(1);
  if (value > most) node.fail(fmt::format("found {}, expected a whole number of at most {}", value, most), "lower it");
  return value;
}
/// Rates of both dimensions.
template <class Rate>
Rate plausible(Node const& node, Rate rate) {
  if (rate.count() < kSlowestRate || rate.count() > kFastestRate)
    node.fail(fmt::format("found {}, expected a rate between one bit and {} a second", twinstep::quoted(node.string()),
                          kFastestRate),
              "correct its number or its unit");
  return rate;
}

/// Whether a scenario set only the value, so that basis and source are still those of the old one, or none.
bool is_change(Resolved const& resolved, Node const& number) {
  if (resolved.is_in_profile(number.at("value"))) return false;
  auto const source = number.find("source");
  return !source || resolved.is_in_profile(*source);
}
}  // namespace

double positive_number(Node const& node) {
  auto const value = node.number();
  if (!(value > 0)) node.fail(fmt::format("found {}, expected a number above zero", value), "raise it");
  return no_larger(node, value);
}

double number_from_zero(Node const& node) {
  auto const value = node.number();
  if (value < 0) node.fail(fmt::format("found {}, expected a number of at least zero", value), "raise it");
  return no_larger(node, value);
}

double oversubscription(Node const& node) {
  auto const value = node.number();
  if (!(value >= 1))
    node.fail(fmt::format("found {}, expected at least 1: the bandwidth from below over the bandwidth upwards", value),
              "switches with more uplinks than their nodes can fill have 1");
  return no_larger(node, value);
}

double fraction(Node const& node) {
  auto const value = node.number();
  if (!(value > 0 && value <= 1))
    node.fail(fmt::format("found {}, expected a fraction above 0 and up to 1", value), "90 % is written 0.9");
  if (value < kSmallestFraction)
    node.fail(fmt::format("found {}, expected a fraction of at least {}", value, kSmallestFraction), "raise it");
  return value;
}

std::int64_t count(Node const& node) {
  return count_up_to(node, kMostNodes);
}
std::int64_t count_in_node(Node const& node) {
  return count_up_to(node, kMostInNode);
}
Bytes size(Node const& node) {
  return node.bytes();
}
Bytes capacity(Node const& node) {
  auto const bytes = node.bytes();
  if (bytes == Bytes{})
    node.fail(fmt::format("found {}, expected a capacity above zero", twinstep::quoted(node.string())),
              "state it, or leave the key out where it may be unknown: a host's memory, drives");
  return bytes;
}
Duration duration(Node const& node) {
  auto const delay = node.duration();
  if (delay > kLongestDelay)
    node.fail(fmt::format("found {}, expected a delay of at most an hour", twinstep::quoted(node.string())),
              "lower it");
  return delay;
}

BytesPerSecond bandwidth(Node const& node) {
  return plausible(node, node.bandwidth());
}
FlopsPerSecond flop_rate(Node const& node) {
  return plausible(node, node.flop_rate());
}

double fraction_from_zero(Node const& node) {
  return node.number() == 0 ? 0 : fraction(node);
}

std::int64_t index(Node const& node) {
  return node.integer_from(0);
}

Node value_of(Node const& number) {
  if (!number.is(Node::Type::kObject)) return number;
  number.allow_only({"value", "basis", "source", "spread"});
  return number.at("value");
}

io::Node with_source(io::Maker const& make, Node const& value, hardware::Basis basis, std::string_view source) {
  return make.object({{"value", value}, {"basis", make.text(name_of(basis))}, {"source", make.text(source)}});
}

hardware::Provenance read_provenance(Resolved const& resolved, Node const& number) {
  auto scenario = hardware::Provenance{hardware::Basis::kScenario, "scenario"};
  if (!number.is(Node::Type::kObject)) {
    if (resolved.is_in_profile(number))
      number.fail("found a number without its source, expected {\"value\": …, \"basis\": …, \"source\": …}",
                  "say where it comes from");
    return scenario;
  }
  if (is_change(resolved, number)) return scenario;
  auto provenance =
      hardware::Provenance{number.at("basis").word<hardware::Basis>(), std::string{number.at("source").string()}};
  if (provenance.source.empty())
    number.at("source").fail("found an empty source, expected where the number comes from", "name the page or run");
  return provenance;
}

}  // namespace twinstep::hw_profiles
