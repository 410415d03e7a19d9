#include "hw_profiles/reader.hpp"

#include <fmt/format.h>

#include "hw_profiles/collective_reader.hpp"
#include "hw_profiles/numbers.hpp"
#include "hw_profiles/resolve.hpp"

namespace twinstep::hw_profiles {
namespace {

using io::Node;

/// Reads resolved documents into structs.
class Reader : public NumberReader {
 public:
  using NumberReader::NumberReader;

  hardware::Cluster cluster() const;
  hardware::Gpu gpu(Node const& node) const;
  hardware::Node node(Node const& node) const;
  hardware::Fabric fabric(Node const& node) const;
  hardware::Stack stack(Node const& node) const;

 private:
  std::optional<hardware::GemmTile> optional_tile(Node const& node, std::string_view kind) const;
  hardware::KernelEfficiency kernel_efficiency(Node const& node) const;
  hardware::Host host(Node const& node) const;
  hardware::Drives drives(Node const& node) const;
  hardware::FabricLevel level(Node const& node) const;
};

/// "<kind>_tile_rows" and "<kind>_tile_columns": both or neither.
std::optional<hardware::GemmTile> Reader::optional_tile(Node const& node, std::string_view kind) const {
  auto const rows = fmt::format("{}_tile_rows", kind);
  auto const columns = fmt::format("{}_tile_columns", kind);
  if (!node.find(rows) && !node.find(columns)) return std::nullopt;
  return hardware::GemmTile{sourced(node, rows, count), sourced(node, columns, count)};
}

hardware::KernelEfficiency Reader::kernel_efficiency(Node const& node) const {
  node.allow_only({"gemm", "gemm_fp8", "gemm_half_k", "attention_forward", "attention_backward", "attention_kernels",
                   "memory", "gemm_tile_rows", "gemm_tile_columns", "convolution_tile_rows",
                   "convolution_tile_columns"});
  auto efficiency = hardware::KernelEfficiency{.gemm = sourced(node, "gemm", fraction),
                                               .gemm_half_k = sourced(node, "gemm_half_k", number_from_zero),
                                               .attention_forward = sourced(node, "attention_forward", fraction),
                                               .attention_backward = sourced(node, "attention_backward", fraction),
                                               .memory = sourced(node, "memory", fraction)};
  efficiency.gemm_fp8 = optional(node, "gemm_fp8", fraction);
  efficiency.gemm_tile = optional_tile(node, "gemm");
  efficiency.convolution_tile = optional_tile(node, "convolution");
  if (auto const kernels = node.find("attention_kernels"))
    for (auto const& [name, kernel] : kernels->members()) {
      kernel.allow_only({"forward", "backward"});
      efficiency.attention_kernels.push_back(
          {std::string{name}, sourced(kernel, "forward", fraction), sourced(kernel, "backward", fraction)});
    }
  return efficiency;
}

hardware::Gpu Reader::gpu(Node const& node) const {
  node.allow_only({"name", "description", "aliases", "reference_node", "library", "memory_capacity", "memory_bandwidth",
                   "peaks", "sm_count", "compute_capability", "link_class", "link", "pcie", "efficiency",
                   "kernel_start", "context_memory", "failures_per_thousand_days"});
  auto gpu = hardware::Gpu{.name = text(node, "name"),
                           .description = optional_text(node, "description"),
                           .memory_capacity = sourced(node, "memory_capacity", capacity),
                           .memory_bandwidth = sourced(node, "memory_bandwidth", bandwidth),
                           .sm_count = sourced(node, "sm_count", count),
                           .compute_capability = optional(node, "compute_capability", count),
                           .pcie = optional(node, "pcie", bandwidth),
                           .efficiency = kernel_efficiency(node.at("efficiency")),
                           .kernel_start = sourced(node, "kernel_start", duration),
                           .context_memory = sourced(node, "context_memory", size),
                           .failures_per_thousand_days = optional(node, "failures_per_thousand_days", positive_number)};
  if (node.find("link_class")) {
    gpu.link_class = text(node, "link_class");
    gpu.link = sourced(node, "link", bandwidth);
  }
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

hardware::Host Reader::host(Node const& node) const {
  node.allow_only(
      {"cpu", "launch", "communication_launch", "memory_bandwidth", "memory_efficiency", "memory_capacity"});
  auto host =
      hardware::Host{.cpu = node.find("cpu") ? node.at("cpu").word<hardware::CpuVendor>() : hardware::CpuVendor::kIntel,
                     .launch = sourced(node, "launch", duration),
                     .communication_launch = sourced(node, "communication_launch", duration),
                     .memory_bandwidth = sourced(node, "memory_bandwidth", bandwidth),
                     .memory_capacity = optional(node, "memory_capacity", capacity)};
  if (node.find("memory_efficiency")) host.memory_efficiency = sourced(node, "memory_efficiency", fraction);
  return host;
}

hardware::Drives Reader::drives(Node const& node) const {
  node.allow_only({"read", "write", "capacity"});
  return {.read = sourced(node, "read", bandwidth),
          .write = sourced(node, "write", bandwidth),
          .capacity = optional(node, "capacity", capacity)};
}

void check_counts(Node const& document, hardware::Node const& node) {
  if ((node.gpus == 1) != (node.intra == hardware::IntraNode::kNone))
    document.at("intra").fail(fmt::format("found \"{}\" for {} GPU{}, expected {}", name_of(node.intra), node.gpus,
                                          node.gpus == 1 ? "" : "s", node.gpus == 1 ? "\"none\"" : "a kind of link"),
                              "\"none\" is for one GPU, and the others connect several");
  constexpr auto kLargestMesh = std::int64_t{64};
  constexpr auto kCubeMesh = std::int64_t{8};
  auto const most = node.intra == hardware::IntraNode::kCubeMesh ? kCubeMesh : kLargestMesh;
  auto const is_mesh = node.intra == hardware::IntraNode::kCubeMesh || node.intra == hardware::IntraNode::kMesh;
  if (is_mesh && node.gpus > most)
    document.at("gpus").fail(
        fmt::format("found {} GPUs in a {}, expected at most {}", node.gpus, name_of(node.intra), most),
        "larger nodes have switches: \"nvswitch\"");
  auto const at_host = node.gpus_on_host();
  if (node.gpus % at_host != 0 || node.nics % (node.gpus / at_host) != 0)
    document.at("gpus_per_host")
        .fail(fmt::format("found {} GPUs at a host, expected hosts with equal shares of {} GPUs and {} NICs", at_host,
                          node.gpus, node.nics),
              "give every host as many of both");
  if (node.gpus_per_host && node.intra != hardware::IntraNode::kNvSwitch && node.intra != hardware::IntraNode::kMesh)
    document.at("gpus_per_host")
        .fail("found several hosts whose GPUs NVLink does not join, expected \"nvswitch\" or \"mesh\"",
              "leave gpus_per_host out");
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
  node.allow_only({"name", "description", "gpu", "gpus", "intra", "gpu_link", "link", "pcie", "gpus_per_pcie_switch",
                   "gpus_per_host", "nics", "nic", "host", "drives"});
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
  if (auto const found = node.find("drives")) result.drives = drives(*found);
  if (node.find("gpus_per_host")) {
    auto from = hardware::Provenance{};
    result.gpus_per_host = counted(node, "gpus_per_host", from, count_in_node);
  }
  // One GPU alone needs no link; everything else needs its rate and its cost.
  if (result.intra != hardware::IntraNode::kNone || node.find("gpu_link"))
    result.gpu_link = sourced(node, "gpu_link", bandwidth);
  if (result.intra != hardware::IntraNode::kNone || node.find("link")) result.link = read_link(*this, node.at("link"));
  check_counts(node, result);
  return result;
}

hardware::FabricLevel Reader::level(Node const& node) const {
  node.allow_only({"name", "nodes", "oversubscription", "hop_latency", "uplinks", "balancing"});
  auto level = hardware::FabricLevel{.name = text(node, "name"),
                                     .oversubscription = sourced(node, "oversubscription", positive_number),
                                     .hop_latency = sourced(node, "hop_latency", duration)};
  level.nodes = counted(node, "nodes", level.nodes_from);
  if (node.find("uplinks")) level.uplinks = counted(node, "uplinks", level.uplinks_from);
  if (auto const balancing = node.find("balancing")) level.balancing = balancing->word<hardware::Balancing>();
  return level;
}

hardware::Fabric Reader::fabric(Node const& node) const {
  node.allow_only({"name", "description", "transport", "is_rail_optimised", "port", "ports_per_node", "levels"});
  auto fabric = hardware::Fabric{.name = text(node, "name"),
                                 .description = optional_text(node, "description"),
                                 .transport = read_transport(*this, node.at("transport")),
                                 .is_rail_optimised = node.at("is_rail_optimised").boolean(),
                                 .port = sourced(node, "port", bandwidth)};
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

hardware::Stack Reader::stack(Node const& node) const {
  node.allow_only({"name", "description", "attention", "compute", "elementwise", "loss", "optimizer", "gradient_bytes",
                   "held_sms", "rank_spread", "fitted_on"});
  auto stack = hardware::Stack{.name = text(node, "name"),
                               .description = optional_text(node, "description"),
                               .attention = optional_text(node, "attention"),
                               .compute = sourced(node, "compute", positive_number),
                               .elementwise = sourced(node, "elementwise", positive_number),
                               .loss = sourced(node, "loss", positive_number),
                               .optimizer = sourced(node, "optimizer", positive_number),
                               .gradient_bytes = sourced(node, "gradient_bytes", number_from_zero),
                               .held_sms = sourced(node, "held_sms", fraction_from_zero),
                               .rank_spread = sourced(node, "rank_spread", fraction_from_zero)};
  if (auto const families = node.find("fitted_on"))
    for (auto const& family : families->elements())
      stack.fitted_on.push_back({text(family, "family"), count(family.at("most_nodes"))});
  return stack;
}

/// "allocator": PYTORCH_CUDA_ALLOC_CONF of the job.
hardware::Allocator read_allocator(Node const& node) {
  constexpr auto kLeastSplit = Bytes{(20 << 20) + 1};  // PyTorch: max_split_size_mb must be above its 20 MiB segments
  node.allow_only({"expandable_segments", "max_split"});
  auto allocator = hardware::Allocator{};
  if (auto const expandable = node.find("expandable_segments")) allocator.expandable_segments = expandable->boolean();
  auto const limit = node.find("max_split");
  if (!limit) return allocator;
  allocator.max_split = limit->bytes();
  if (*allocator.max_split < kLeastSplit)
    limit->fail(fmt::format("found {}, expected more than \"20 MiB\", the size of a segment",
                            twinstep::quoted(limit->string())),
                "raise it, or leave it out: then any block may be split");
  if (allocator.expandable_segments)
    limit->fail("found a limit to what is split beside expandable segments, whose blocks are always split",
                "leave one of them out");
  return allocator;
}

/// "faults": what is slower than its kind, or broken.
std::vector<hardware::Fault> read_faults(Node const& list) {
  auto faults = std::vector<hardware::Fault>{};
  for (auto const& each : list.elements()) {
    each.allow_only({"resource", "node", "rate"});
    auto fault = hardware::Fault{.resource = text(each, "resource")};
    if (auto const node = each.find("node")) fault.node = node->integer_from(0);
    if (auto const rate = each.find("rate")) fault.rate = fraction_from_zero(*rate);
    faults.push_back(std::move(fault));
  }
  return faults;
}

void check_fit(Node const& document, hardware::Cluster const& cluster) {
  auto const& fabric = cluster.fabric;
  if (cluster.nodes() > fabric.capacity())
    document.at("nodes").fail(fmt::format("found {} nodes, but fabric {} connects {}", cluster.nodes(),
                                          twinstep::quoted(fabric.name), fabric.capacity()),
                              "use fewer nodes, or a fabric with another tier in its \"levels\"");
  if (fabric.ports_per_node && *fabric.ports_per_node > cluster.node().nics)
    document.at("fabric")
        .at("ports_per_node")
        .fail(fmt::format("found {} ports for each node, but node {} has {} NICs", *fabric.ports_per_node,
                          twinstep::quoted(cluster.node().name), cluster.node().nics),
              "lower it, or leave it out to plug in all of them");
}

hardware::Cluster Reader::cluster() const {
  auto const& document = resolved().document;
  document.allow_only({"name", "description", "node", "fabric", "library", "stack", "allocator", "nodes", "faults",
                       "step_error", "calibration"});
  auto cluster = hardware::Cluster{.name = text(document, "name"),
                                   .description = optional_text(document, "description"),
                                   .groups = {{node(document.at("node")), count(document.at("nodes"))}},
                                   .fabric = fabric(document.at("fabric")),
                                   .library = read_library(*this, document.at("library")),
                                   .calibration = optional_text(document, "calibration")};
  if (cluster.calibration.empty()) cluster.calibration = "uncalibrated: its profile does not say what was measured";
  if (auto const its = document.find("stack")) cluster.stack = stack(*its);
  if (auto const its = document.find("allocator")) cluster.allocator = read_allocator(*its);
  if (auto const band = document.find("step_error")) {
    band->allow_only({"low", "high"});
    cluster.step_error = {sourced(*band, "low", positive_number), sourced(*band, "high", positive_number)};
  }
  if (auto const faults = document.find("faults")) cluster.faults = read_faults(*faults);
  check_fit(document, cluster);
  return cluster;
}

}  // namespace

hardware::Cluster read_cluster(Node const& reference, std::vector<std::string>& warnings) {
  auto const resolved = resolve(Kind::kCluster, reference);
  warnings.insert(warnings.end(), resolved.warnings.begin(), resolved.warnings.end());
  return Reader{resolved}.cluster();
}

hardware::Cluster read_cluster(Node const& reference) {
  auto warnings = std::vector<std::string>{};
  return read_cluster(reference, warnings);
}

hardware::Cluster read_cluster(std::string const& argument, std::vector<std::string>& warnings) {
  if (argument.starts_with('{')) return read_cluster(io::parse({"cluster", argument, false}), warnings);
  return read_cluster(io::string_node(argument, "cluster"), warnings);
}

hardware::Cluster read_cluster(std::string const& argument) {
  auto warnings = std::vector<std::string>{};
  return read_cluster(argument, warnings);
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

hardware::Link read_link(Node const& reference) {
  auto const resolved = resolve(Kind::kLink, reference);
  return read_link(NumberReader{resolved}, resolved.document);
}

hardware::Transport read_transport(Node const& reference) {
  auto const resolved = resolve(Kind::kTransport, reference);
  return read_transport(NumberReader{resolved}, resolved.document);
}

hardware::Stack read_stack(Node const& reference) {
  auto const resolved = resolve(Kind::kStack, reference);
  return Reader{resolved}.stack(resolved.document);
}

hardware::Library read_library(Node const& reference) {
  auto const resolved = resolve(Kind::kLibrary, reference);
  return read_library(NumberReader{resolved}, resolved.document);
}

}  // namespace twinstep::hw_profiles
