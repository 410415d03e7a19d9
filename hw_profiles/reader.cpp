#include "hw_profiles/reader.hpp"

#include <fmt/format.h>

#include "hw_profiles/resolve.hpp"

namespace twinstep::hw_profiles {
namespace {

using hardware::Basis;
using hardware::Provenance;
using hardware::Sourced;
using io::Node;

constexpr auto kScenarioSource = "scenario";

// What a number must be; each returns it, or fails at its node. The bounds leave every machine room that is or could be
// built; between them no product of a few numbers leaves what doubles and the simulated clock hold.
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

double fraction(Node const& node) {
  auto const value = node.number();
  if (!(value > 0 && value <= 1))
    node.fail(fmt::format("found {}, expected a fraction above 0 and up to 1", value), "90 % is written 0.9");
  if (value < kSmallestFraction)
    node.fail(fmt::format("found {}, expected a fraction of at least {}", value, kSmallestFraction), "raise it");
  return value;
}

std::int64_t count_up_to(Node const& node, std::int64_t most) {
  auto const value = node.integer_from(1);
  if (value > most) node.fail(fmt::format("found {}, expected a whole number of at most {}", value, most), "lower it");
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
Duration duration(Node const& node) {
  auto const delay = node.duration();
  if (delay > kLongestDelay)
    node.fail(fmt::format("found {}, expected a delay of at most an hour", twinstep::quoted(node.string())),
              "lower it");
  return delay;
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
BytesPerSecond bandwidth(Node const& node) {
  return plausible(node, node.bandwidth());
}
FlopsPerSecond flop_rate(Node const& node) {
  return plausible(node, node.flop_rate());
}

/// Reads resolved documents into structs.
class Reader {
 public:
  explicit Reader(Resolved const& resolved) : resolved_{resolved} {}

  hardware::Cluster cluster() const;
  hardware::Gpu gpu(Node const& node) const;
  hardware::Node node(Node const& node) const;
  hardware::Fabric fabric(Node const& node) const;

 private:
  hardware::KernelEfficiency kernel_efficiency(Node const& node) const;
  hardware::LinkCost link_cost(Node const& node) const;
  hardware::Host host(Node const& node) const;
  hardware::FabricLevel level(Node const& node) const;
  hardware::CollectiveCost collectives(Node const& node) const;

  /// Reads a number and why to believe it.
  template <class Read>
  auto sourced(Node const& parent, std::string_view key, Read read) const {
    auto result = Sourced<decltype(read(parent))>{};
    auto const node = parent.at(key);
    if (node.is(Node::Type::kObject)) {
      node.allow_only({"value", "basis", "source"});
      auto const value = node.at("value");
      result.value = read(value);
      if (is_change(node, value)) {
        result.basis = Basis::kScenario;
        result.source = kScenarioSource;
      } else {
        result.basis = node.at("basis").word<Basis>();
        result.source = node.at("source").string();
        if (result.source.empty())
          node.at("source").fail("found an empty source, expected where the number comes from", "name the page or run");
      }
      return result;
    }
    result.value = read(node);
    if (resolved_.is_in_profile(node))
      node.fail("found a number without its source, expected {\"value\": …, \"basis\": …, \"source\": …}",
                "say where it comes from");
    result.basis = Basis::kScenario;
    result.source = kScenarioSource;
    return result;
  }

  /// Whether a scenario set only the value, so that basis and source are still those of the old one, or none.
  bool is_change(Node const& number, Node const& value) const {
    if (resolved_.is_in_profile(value)) return false;
    auto const source = number.find("source");
    return !source || resolved_.is_in_profile(*source);
  }

  std::int64_t counted(Node const& parent, std::string_view key, Provenance& from,
                       std::int64_t (*read)(Node const&) = count) const {
    auto number = sourced(parent, key, read);
    from = {number.basis, std::move(number.source)};
    return number.value;
  }

  Resolved const& resolved_;
};

std::string text(Node const& parent, std::string_view key) {
  return std::string{parent.at(key).string()};
}

std::string optional_text(Node const& parent, std::string_view key) {
  auto const node = parent.find(key);
  return node ? std::string{node->string()} : std::string{};
}

hardware::KernelEfficiency Reader::kernel_efficiency(Node const& node) const {
  node.allow_only({"gemm", "gemm_half_k", "attention_forward", "attention_backward", "memory"});
  return {.gemm = sourced(node, "gemm", fraction),
          .gemm_half_k = sourced(node, "gemm_half_k", number_from_zero),
          .attention_forward = sourced(node, "attention_forward", fraction),
          .attention_backward = sourced(node, "attention_backward", fraction),
          .memory = sourced(node, "memory", fraction)};
}

hardware::Gpu Reader::gpu(Node const& node) const {
  node.allow_only({"name", "description", "memory_capacity", "memory_bandwidth", "peaks", "sm_count", "efficiency",
                   "kernel_start", "context_memory"});
  auto gpu = hardware::Gpu{.name = text(node, "name"),
                           .description = optional_text(node, "description"),
                           .memory_capacity = sourced(node, "memory_capacity", size),
                           .memory_bandwidth = sourced(node, "memory_bandwidth", bandwidth),
                           .sm_count = sourced(node, "sm_count", count),
                           .efficiency = kernel_efficiency(node.at("efficiency")),
                           .kernel_start = sourced(node, "kernel_start", duration),
                           .context_memory = sourced(node, "context_memory", size)};
  auto const peaks = node.at("peaks");
  for (auto const& [name, peak] : peaks.members()) {
    auto const type = find_enum<DataType>(name);
    if (!type)
      peak.fail(fmt::format("found a peak for {}, expected an element type", twinstep::quoted(name)),
                suggest_name(name, all_names<DataType>()));
    gpu.peaks.push_back({*type, sourced(peaks, name, flop_rate)});
  }
  if (gpu.peaks.empty()) peaks.fail("found no peak, expected one at least", "add one, such as \"bf16\"");
  return gpu;
}

hardware::LinkCost Reader::link_cost(Node const& node) const {
  node.allow_only({"step_latency", "efficiency"});
  return {.step_latency = sourced(node, "step_latency", duration), .efficiency = sourced(node, "efficiency", fraction)};
}

hardware::Host Reader::host(Node const& node) const {
  node.allow_only({"launch", "communication_launch", "memory_bandwidth", "memory_capacity"});
  return {.launch = sourced(node, "launch", duration),
          .communication_launch = sourced(node, "communication_launch", duration),
          .memory_bandwidth = sourced(node, "memory_bandwidth", bandwidth),
          .memory_capacity = sourced(node, "memory_capacity", size)};
}

void check_counts(Node const& document, hardware::Node const& node) {
  if ((node.gpus == 1) != (node.intra == hardware::IntraNode::kNone))
    document.at("intra").fail(fmt::format("found \"{}\" for {} GPU{}, expected {}", name_of(node.intra), node.gpus,
                                          node.gpus == 1 ? "" : "s", node.gpus == 1 ? "\"none\"" : "a kind of link"),
                              "\"none\" is for one GPU, and the others connect several");
  if (node.gpus % node.gpus_per_pcie_switch != 0)
    document.at("gpus_per_pcie_switch")
        .fail(fmt::format("found {} GPUs at a PCIe switch, expected a divisor of the node's {}",
                          node.gpus_per_pcie_switch, node.gpus),
              "give every switch as many");
  if (node.gpus % node.nics != 0 && node.nics % node.gpus != 0)
    document.at("nics").fail(
        fmt::format("found {} NICs for {} GPUs, expected one count to divide the other", node.nics, node.gpus),
        "leave out the NICs that carry no training traffic");
}

hardware::Node Reader::node(Node const& node) const {
  node.allow_only({"name", "description", "gpu", "gpus", "intra", "gpu_link", "intra_cost", "pcie",
                   "gpus_per_pcie_switch", "nics", "nic", "host", "collectives"});
  auto result = hardware::Node{.name = text(node, "name"),
                               .description = optional_text(node, "description"),
                               .gpu = gpu(node.at("gpu")),
                               .intra = node.at("intra").word<hardware::IntraNode>(),
                               .pcie = sourced(node, "pcie", bandwidth),
                               .nic = sourced(node, "nic", bandwidth),
                               .host = host(node.at("host"))};
  result.gpus = counted(node, "gpus", result.gpus_from, count_in_node);
  result.gpus_per_pcie_switch = counted(node, "gpus_per_pcie_switch", result.gpus_per_pcie_switch_from, count_in_node);
  result.nics = counted(node, "nics", result.nics_from, count_in_node);
  // One GPU alone needs no link; everything else needs its rate and its cost.
  if (result.intra != hardware::IntraNode::kNone || node.find("gpu_link"))
    result.gpu_link = sourced(node, "gpu_link", bandwidth);
  if (result.intra != hardware::IntraNode::kNone || node.find("intra_cost"))
    result.intra_cost = link_cost(node.at("intra_cost"));
  check_counts(node, result);
  return result;
}

hardware::FabricLevel Reader::level(Node const& node) const {
  node.allow_only({"name", "nodes", "oversubscription", "hop_latency"});
  auto level = hardware::FabricLevel{.name = text(node, "name"),
                                     .oversubscription = sourced(node, "oversubscription", positive_number),
                                     .hop_latency = sourced(node, "hop_latency", duration)};
  level.nodes = counted(node, "nodes", level.nodes_from);
  return level;
}

hardware::Fabric Reader::fabric(Node const& node) const {
  node.allow_only({"name", "description", "kind", "is_rail_optimised", "has_gpu_direct", "port", "ports_per_node",
                   "levels", "cost"});
  auto fabric = hardware::Fabric{.name = text(node, "name"),
                                 .description = optional_text(node, "description"),
                                 .kind = node.at("kind").word<hardware::FabricKind>(),
                                 .is_rail_optimised = node.at("is_rail_optimised").boolean(),
                                 .has_gpu_direct = node.at("has_gpu_direct").boolean(),
                                 .port = sourced(node, "port", bandwidth),
                                 .cost = link_cost(node.at("cost"))};
  if (node.find("ports_per_node")) fabric.ports_per_node = counted(node, "ports_per_node", fabric.ports_per_node_from);
  for (auto const& tier : node.at("levels").elements()) {
    fabric.levels.push_back(level(tier));
    auto const above = fabric.levels.back().nodes;
    auto const below = fabric.levels.size() == 1 ? 1 : fabric.levels[fabric.levels.size() - 2].nodes;
    if (above % below != 0)
      tier.at("nodes").fail(fmt::format("found {} nodes below a switch, expected a multiple of the {} below the tier "
                                        "under it",
                                        above, below),
                            "switches of one tier connect as many nodes each");
  }
  if (fabric.levels.empty()) node.at("levels").fail("found no tier, expected one at least", "one switch is one tier");
  return fabric;
}

hardware::CollectiveCost Reader::collectives(Node const& node) const {
  node.allow_only({"launch", "memory_bytes_per_wire_byte", "channels", "buffers"});
  return {.launch = sourced(node, "launch", duration),
          .memory_bytes_per_wire_byte = sourced(node, "memory_bytes_per_wire_byte", number_from_zero),
          .channels = sourced(node, "channels", count),
          .buffers = sourced(node, "buffers", size)};
}

void check_fit(Node const& document, hardware::Cluster const& cluster) {
  auto const& fabric = cluster.fabric;
  if (cluster.nodes > fabric.capacity())
    document.at("nodes").fail(fmt::format("found {} nodes, but fabric {} connects {}", cluster.nodes,
                                          twinstep::quoted(fabric.name), fabric.capacity()),
                              "use fewer nodes, or a fabric with another tier in its \"levels\"");
  if (fabric.ports_per_node > cluster.node.nics)
    document.at("fabric")
        .at("ports_per_node")
        .fail(fmt::format("found {} ports for each node, but node {} has {} NICs", fabric.ports_per_node,
                          twinstep::quoted(cluster.node.name), cluster.node.nics),
              "lower it, or leave it out to plug in all of them");
}

hardware::Cluster Reader::cluster() const {
  auto const& document = resolved_.document;
  document.allow_only({"name", "description", "node", "fabric", "nodes", "calibration"});
  auto cluster = hardware::Cluster{.name = text(document, "name"),
                                   .description = optional_text(document, "description"),
                                   .node = node(document.at("node")),
                                   .nodes = count(document.at("nodes")),
                                   .fabric = fabric(document.at("fabric")),
                                   .collectives = collectives(document.at("node").at("collectives")),
                                   .calibration = text(document, "calibration")};
  check_fit(document, cluster);
  return cluster;
}

}  // namespace

hardware::Cluster read_cluster(Node const& reference) {
  auto const resolved = resolve(Kind::kCluster, reference);
  return Reader{resolved}.cluster();
}

hardware::Cluster read_cluster(std::string const& name_or_path) {
  return read_cluster(io::string_node(name_or_path, "cluster"));
}

hardware::Gpu read_gpu(Node const& reference) {
  auto const resolved = resolve(Kind::kGpu, reference);
  return Reader{resolved}.gpu(resolved.document);
}

hardware::Node read_node(Node const& reference) {
  auto const resolved = resolve(Kind::kNode, reference);
  return Reader{resolved}.node(resolved.document);
}

hardware::Fabric read_fabric(Node const& reference) {
  auto const resolved = resolve(Kind::kFabric, reference);
  return Reader{resolved}.fabric(resolved.document);
}

}  // namespace twinstep::hw_profiles
