#include "hw_profiles/writer.hpp"

#include <concepts>
#include <optional>

#include <fmt/format.h>

#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/quantity.hpp"

namespace twinstep::hw_profiles {
namespace {

using hardware::Provenance;
using hardware::Sourced;
using io::json_string;

/// JSON under construction, one member a line.
class Writer {
 public:
  void open(std::string_view key, char bracket) {
    begin(key);
    text_ += bracket;
    ++depth_;
    is_first_ = true;
  }
  void close(char bracket) {
    --depth_;
    new_line();
    text_ += bracket;
    is_first_ = false;
  }
  void member(std::string_view key, std::string const& json) {
    begin(key);
    text_ += json;
  }
  [[nodiscard]] std::string text() && { return std::move(text_) + "\n"; }

 private:
  void begin(std::string_view key) {
    if (!is_first_) text_ += ',';
    if (depth_ > 0) new_line();
    is_first_ = false;
    if (!key.empty()) text_ += json_string(key) + ": ";
  }
  void new_line() { text_ += '\n' + std::string(static_cast<std::size_t>(depth_) * 2, ' '); }

  std::string text_;
  int depth_ = 0;
  bool is_first_ = true;
};

std::string value_text(double value) {
  return fmt::format("{}", value);
}
std::string value_text(std::int64_t value) {
  return fmt::format("{}", value);
}
template <class Tag, class Rep>
std::string value_text(Quantity<Tag, Rep> value) {
  return json_string(io::quantity_text(value));
}

std::string sourced_text(std::string const& value, hardware::Basis basis, std::string_view source) {
  return fmt::format("{{\"value\": {}, \"basis\": {}, \"source\": {}}}", value, json_string(name_of(basis)),
                     json_string(source));
}

template <class T>
void put(Writer& out, std::string_view key, Sourced<T> const& number) {
  out.member(key, sourced_text(value_text(number.value), number.basis, number.source));
}

template <class T>
void put(Writer& out, std::string_view key, std::optional<Sourced<T>> const& number) {
  if (number) put(out, key, *number);
}

void put(Writer& out, std::string_view key, std::int64_t count, Provenance const& from) {
  // A cluster that was built in memory has no source for its counts; a profile must have one.
  auto const* const unknown = "not stated";
  out.member(key, sourced_text(value_text(count), from.basis, from.source.empty() ? unknown : from.source));
}

void put(Writer& out, std::string_view key, std::string_view text) {
  out.member(key, json_string(text));
}
/// Of a bool only: a literal would rather become one than a text.
void put(Writer& out, std::string_view key, std::same_as<bool> auto fact) {
  out.member(key, fact ? "true" : "false");
}

void put(Writer& out, std::string_view key, hardware::Link const& link) {
  out.open(key, '{');
  put(out, "name", link.name);
  put(out, "description", link.description);
  put(out, "is_nvlink", link.is_nvlink);
  put(out, "ring_efficiency", link.ring_efficiency);
  put(out, "pair_efficiency", link.pair_efficiency);
  put(out, "peer_efficiency", link.peer_efficiency);
  put(out, "multicast_efficiency", link.multicast_efficiency);
  put(out, "rack_multicast_efficiency", link.rack_multicast_efficiency);
  put(out, "multicast_latency", link.multicast_latency);
  put(out, "ll_limit", link.ll_limit);
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Transport const& transport) {
  out.open(key, '{');
  put(out, "name", transport.name);
  put(out, "description", transport.description);
  put(out, "is_rdma", transport.is_rdma);
  put(out, "has_gpu_direct", transport.has_gpu_direct);
  put(out, "efficiency", transport.efficiency);
  put(out, "lone_gpu_efficiency", transport.lone_gpu_efficiency);
  put(out, "step_latency", transport.step_latency);
  put(out, "is_token_bucket", transport.is_token_bucket);
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::ErrorBands const& bands) {
  out.open(key, '{');
  for (std::size_t i = 0; i < bands.size(); ++i) {
    out.open(all_names<hardware::SizeRange>()[i], '{');
    put(out, "low", bands[i].low);
    put(out, "high", bands[i].high);
    out.close('}');
  }
  out.close('}');
}

template <class Values>
std::string list_text(Values const& values) {
  auto text = std::string{};
  for (auto const& value : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", value_text(value));
  return fmt::format("[{}]", text);
}

void put(Writer& out, hardware::CollectiveCalibration const& calibration) {
  out.open("", '{');
  put(out, "collective", name_of(calibration.collective));
  out.member("ranks", value_text(calibration.ranks));
  out.member("nodes", value_text(calibration.nodes));
  out.member("smallest", value_text(calibration.smallest));
  out.member("largest", value_text(calibration.largest));
  put(out, "basis", name_of(hardware::Basis::kFitted));
  put(out, "source", calibration.source);
  out.open("corrections", '[');
  for (auto const& each : calibration.corrections) {
    out.open("", '{');
    put(out, "algorithm", name_of(each.algorithm));
    put(out, "protocol", name_of(each.protocol));
    out.member("sizes", list_text(each.sizes));
    out.member("factors", list_text(each.factors));
    out.close('}');
  }
  out.close(']');
  put(out, "errors", calibration.errors);
  out.close('}');
}

void put_algorithms(Writer& out, hardware::Library const& library) {
  out.open("algorithms", '{');
  for (auto const& [collective, fixed] : library.algorithms) {
    out.open(name_of(collective), '{');
    put(out, "algorithm", name_of(fixed.algorithm));
    put(out, "messages_per_step", fixed.messages_per_step);
    if (fixed.half_duplex_beyond) put(out, "half_duplex_beyond", *fixed.half_duplex_beyond);
    out.close('}');
  }
  out.close('}');
}

void put_protocols(Writer& out, hardware::Library const& library) {
  out.open("protocols", '{');
  for (std::size_t i = 0; i < library.protocols.size(); ++i) {
    out.open(all_names<hardware::Protocol>()[i], '{');
    put(out, "latency_factor", library.protocols[i].latency_factor);
    put(out, "wire_efficiency", library.protocols[i].wire_efficiency);
    put(out, "copy_efficiency", library.protocols[i].copy_efficiency);
    out.close('}');
  }
  out.close('}');
}

void put_launchers(Writer& out, hardware::Library const& library) {
  out.open("launchers", '{');
  for (std::size_t i = 0; i < library.launchers.size(); ++i) {
    out.open(all_names<hardware::Launcher>()[i], '{');
    put(out, "fixed", library.launchers[i].fixed);
    put(out, "per_gpu", library.launchers[i].per_gpu);
    put(out, "per_peer", library.launchers[i].per_peer);
    out.close('}');
  }
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Library const& library) {
  out.open(key, '{');
  put(out, "name", library.name);
  put(out, "description", library.description);
  put(out, "version", library.version);
  out.open("environment", '{');
  for (auto const& [name, value] : library.environment) put(out, name, value);
  out.close('}');
  put(out, "choice", name_of(library.choice));
  if (!library.algorithms.empty()) put_algorithms(out, library);
  put(out, "tuning", std::string_view{library.tuning.from_version.empty() ? "none" : "nccl"});
  put_protocols(out, library);
  put(out, "kernel_start", library.kernel_start);
  put(out, "tree_efficiency", library.tree_efficiency);
  put(out, "multicast_tree_efficiency", library.multicast_tree_efficiency);
  put(out, "multicast_chunk_overhead", library.multicast_chunk_overhead);
  put(out, "ll_limit_per_channel", library.ll_limit_per_channel);
  put(out, "memory_bytes_per_wire_byte", library.memory_bytes_per_wire_byte);
  put(out, "buffers", library.buffers);
  out.open("fitted_on", '[');
  for (auto const& system : library.fitted_on) out.member("", json_string(system));
  out.close(']');
  put(out, "errors", library.errors);
  put_launchers(out, library);
  if (!library.calibrations.empty()) {
    out.open("calibrations", '[');
    for (auto const& each : library.calibrations) put(out, each);
    out.close(']');
  }
  out.close('}');
}

/// "<kind>_tile_rows" and "<kind>_tile_columns".
void put_tile(Writer& out, std::string_view kind, std::optional<hardware::GemmTile> const& tile) {
  if (!tile) return;
  put(out, fmt::format("{}_tile_rows", kind), tile->rows);
  put(out, fmt::format("{}_tile_columns", kind), tile->columns);
}

void put(Writer& out, std::string_view key, hardware::KernelEfficiency const& efficiency) {
  out.open(key, '{');
  put(out, "gemm", efficiency.gemm);
  put(out, "gemm_fp8", efficiency.gemm_fp8);
  put(out, "gemm_half_k", efficiency.gemm_half_k);
  put(out, "attention_forward", efficiency.attention_forward);
  put(out, "attention_backward", efficiency.attention_backward);
  put(out, "memory", efficiency.memory);
  put_tile(out, "gemm", efficiency.gemm_tile);
  put_tile(out, "convolution", efficiency.convolution_tile);
  if (!efficiency.attention_kernels.empty()) {
    out.open("attention_kernels", '{');
    for (auto const& kernel : efficiency.attention_kernels) {
      out.open(kernel.name, '{');
      put(out, "forward", kernel.forward);
      put(out, "backward", kernel.backward);
      out.close('}');
    }
    out.close('}');
  }
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Gpu const& gpu) {
  out.open(key, '{');
  put(out, "name", gpu.name);
  put(out, "description", gpu.description);
  put(out, "memory_capacity", gpu.memory_capacity);
  put(out, "memory_bandwidth", gpu.memory_bandwidth);
  out.open("peaks", '{');
  for (auto const& peak : gpu.peaks) put(out, name_of(peak.type), peak.rate);
  out.close('}');
  put(out, "sm_count", gpu.sm_count);
  put(out, "compute_capability", gpu.compute_capability);
  if (!gpu.link_class.empty()) {
    put(out, "link_class", gpu.link_class);
    put(out, "link", gpu.link);
  }
  put(out, "pcie", gpu.pcie);
  put(out, "efficiency", gpu.efficiency);
  put(out, "kernel_start", gpu.kernel_start);
  put(out, "context_memory", gpu.context_memory);
  put(out, "failures_per_thousand_days", gpu.failures_per_thousand_days);
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Stack const& stack) {
  out.open(key, '{');
  put(out, "name", stack.name);
  put(out, "description", stack.description);
  if (!stack.attention.empty()) put(out, "attention", stack.attention);
  put(out, "compute", stack.compute);
  put(out, "elementwise", stack.elementwise);
  put(out, "loss", stack.loss);
  put(out, "optimizer", stack.optimizer);
  put(out, "gradient_bytes", stack.gradient_bytes);
  put(out, "held_sms", stack.held_sms);
  put(out, "rank_spread", stack.rank_spread);
  out.open("fitted_on", '[');
  for (auto const& seen : stack.fitted_on) {
    out.open("", '{');
    put(out, "family", seen.family);
    out.member("most_nodes", value_text(seen.most_nodes));
    out.close('}');
  }
  out.close(']');
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Allocator const& allocator) {
  out.open(key, '{');
  put(out, "expandable_segments", allocator.expandable_segments);
  if (allocator.max_split) out.member("max_split", value_text(*allocator.max_split));
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Node const& node) {
  out.open(key, '{');
  put(out, "name", node.name);
  put(out, "description", node.description);
  put(out, "gpu", node.gpu);
  put(out, "gpus", node.gpus, node.gpus_from);
  put(out, "intra", name_of(node.intra));
  if (node.gpu_link.value.count() > 0) put(out, "gpu_link", node.gpu_link);
  if (!node.link.name.empty()) put(out, "link", node.link);
  put(out, "pcie", node.pcie);
  put(out, "gpus_per_pcie_switch", node.gpus_per_pcie_switch, node.gpus_per_pcie_switch_from);
  if (node.gpus_per_host) put(out, "gpus_per_host", *node.gpus_per_host, node.gpus_from);
  put(out, "nics", node.nics, node.nics_from);
  put(out, "nic", node.nic);
  out.open("host", '{');
  put(out, "cpu", name_of(node.host.cpu));
  put(out, "launch", node.host.launch);
  put(out, "communication_launch", node.host.communication_launch);
  put(out, "memory_bandwidth", node.host.memory_bandwidth);
  if (!node.host.memory_efficiency.source.empty()) put(out, "memory_efficiency", node.host.memory_efficiency);
  put(out, "memory_capacity", node.host.memory_capacity);
  out.close('}');
  if (node.drives) {
    out.open("drives", '{');
    put(out, "read", node.drives->read);
    put(out, "write", node.drives->write);
    put(out, "capacity", node.drives->capacity);
    out.close('}');
  }
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Fabric const& fabric) {
  out.open(key, '{');
  put(out, "name", fabric.name);
  put(out, "description", fabric.description);
  put(out, "transport", fabric.transport);
  put(out, "is_rail_optimised", fabric.is_rail_optimised);
  put(out, "port", fabric.port);
  if (fabric.ports_per_node) put(out, "ports_per_node", *fabric.ports_per_node, fabric.ports_per_node_from);
  out.open("levels", '[');
  for (auto const& level : fabric.levels) {
    out.open("", '{');
    put(out, "name", level.name);
    put(out, "nodes", level.nodes, level.nodes_from);
    put(out, "oversubscription", level.oversubscription);
    put(out, "hop_latency", level.hop_latency);
    if (level.uplinks > 1) put(out, "uplinks", level.uplinks, level.uplinks_from);
    if (level.balancing != hardware::Balancing::kEven) put(out, "balancing", name_of(level.balancing));
    out.close('}');
  }
  out.close(']');
  out.close('}');
}

}  // namespace

std::string cluster_text(hardware::Cluster const& cluster) {
  auto out = Writer{};
  out.open("", '{');
  put(out, "$schema", "../schema/cluster.schema.json");
  put(out, "name", cluster.name);
  put(out, "description", cluster.description);
  put(out, "node", cluster.node());
  put(out, "fabric", cluster.fabric);
  out.member("nodes", value_text(cluster.nodes()));
  put(out, "library", cluster.library);
  if (!cluster.stack.name.empty()) put(out, "stack", cluster.stack);
  if (cluster.allocator != hardware::Allocator{}) put(out, "allocator", cluster.allocator);
  if (cluster.step_error) {
    out.open("step_error", '{');
    put(out, "low", cluster.step_error->low);
    put(out, "high", cluster.step_error->high);
    out.close('}');
  }
  out.open("faults", '[');
  for (auto const& fault : cluster.faults) {
    out.open("", '{');
    put(out, "resource", fault.resource);
    if (fault.node) out.member("node", value_text(*fault.node));
    out.member("rate", value_text(fault.rate));
    out.close('}');
  }
  out.close(']');
  put(out, "calibration", cluster.calibration);
  out.close('}');
  return std::move(out).text();
}

std::string calibrations_text(std::vector<hardware::CollectiveCalibration> const& calibrations) {
  auto out = Writer{};
  out.open("", '[');
  for (auto const& each : calibrations) put(out, each);
  out.close(']');
  return std::move(out).text();
}

}  // namespace twinstep::hw_profiles
