#include "hw_profiles/writer.hpp"

#include <fmt/format.h>

#include "sim/io/document.hpp"
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

void put(Writer& out, std::string_view key, std::int64_t count, Provenance const& from) {
  // A cluster that was built in memory has no source for its counts; a profile must have one.
  auto const* const unknown = "not stated";
  out.member(key, sourced_text(value_text(count), from.basis, from.source.empty() ? unknown : from.source));
}

void put(Writer& out, std::string_view key, std::string_view text) {
  out.member(key, json_string(text));
}
void put(Writer& out, std::string_view key, bool fact) {
  out.member(key, fact ? "true" : "false");
}

void put(Writer& out, std::string_view key, hardware::LinkCost const& cost) {
  out.open(key, '{');
  put(out, "step_latency", cost.step_latency);
  put(out, "efficiency", cost.efficiency);
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
  out.open("efficiency", '{');
  put(out, "gemm", gpu.efficiency.gemm);
  put(out, "gemm_half_k", gpu.efficiency.gemm_half_k);
  put(out, "attention_forward", gpu.efficiency.attention_forward);
  put(out, "attention_backward", gpu.efficiency.attention_backward);
  put(out, "memory", gpu.efficiency.memory);
  out.close('}');
  put(out, "kernel_start", gpu.kernel_start);
  put(out, "context_memory", gpu.context_memory);
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Node const& node) {
  out.open(key, '{');
  put(out, "name", node.name);
  put(out, "description", node.description);
  put(out, "gpu", node.gpu);
  put(out, "gpus", node.gpus, node.gpus_from);
  put(out, "intra", name_of(node.intra));
  if (node.gpu_link.value.count() > 0) {
    put(out, "gpu_link", node.gpu_link);
    put(out, "intra_cost", node.intra_cost);
  }
  put(out, "pcie", node.pcie);
  put(out, "gpus_per_pcie_switch", node.gpus_per_pcie_switch, node.gpus_per_pcie_switch_from);
  put(out, "nics", node.nics, node.nics_from);
  put(out, "nic", node.nic);
  out.open("host", '{');
  put(out, "launch", node.host.launch);
  put(out, "communication_launch", node.host.communication_launch);
  put(out, "memory_bandwidth", node.host.memory_bandwidth);
  put(out, "memory_capacity", node.host.memory_capacity);
  out.close('}');
  out.close('}');
}

void put(Writer& out, std::string_view key, hardware::Fabric const& fabric) {
  out.open(key, '{');
  put(out, "name", fabric.name);
  put(out, "description", fabric.description);
  put(out, "kind", name_of(fabric.kind));
  put(out, "is_rail_optimised", fabric.is_rail_optimised);
  put(out, "has_gpu_direct", fabric.has_gpu_direct);
  put(out, "port", fabric.port);
  if (fabric.ports_per_node > 0) put(out, "ports_per_node", fabric.ports_per_node, fabric.ports_per_node_from);
  out.open("levels", '[');
  for (auto const& level : fabric.levels) {
    out.open("", '{');
    put(out, "name", level.name);
    put(out, "nodes", level.nodes, level.nodes_from);
    put(out, "oversubscription", level.oversubscription);
    put(out, "hop_latency", level.hop_latency);
    out.close('}');
  }
  out.close(']');
  put(out, "cost", fabric.cost);
  out.close('}');
}

}  // namespace

std::string cluster_text(hardware::Cluster const& cluster) {
  auto out = Writer{};
  out.open("", '{');
  put(out, "$schema", "../schema/cluster.schema.json");
  put(out, "name", cluster.name);
  put(out, "description", cluster.description);
  put(out, "node", cluster.node);
  put(out, "fabric", cluster.fabric);
  out.member("nodes", value_text(cluster.nodes));
  out.open("collectives", '{');
  put(out, "launch", cluster.collectives.launch);
  put(out, "memory_bytes_per_wire_byte", cluster.collectives.memory_bytes_per_wire_byte);
  put(out, "channels", cluster.collectives.channels);
  put(out, "buffers", cluster.collectives.buffers);
  out.close('}');
  put(out, "calibration", cluster.calibration);
  out.close('}');
  return std::move(out).text();
}

}  // namespace twinstep::hw_profiles
