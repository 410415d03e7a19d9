#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "hw_profiles/numbers.hpp"
#include "sim/hardware/cluster.hpp"

/// The fields of profiles, each said once: its key in JSON, the member that holds it, and what its value must be.
///
/// `fields(machine, visit)` calls `visit(key, member, …)` for every field of a struct, in the order in which profiles
/// are written. Who needs all fields, or one by its path, is such a visitor: the reader (reader.cpp), the writer
/// (cluster_document.cpp), and numbers by their path (number_path.cpp), which is how sensitivity and calibration name
/// what they change. A test compares the list with the schemas.
///
///     visit(key, member, presence)         a text, a fact, a word, or a struct that has fields
///     visit(key, member, read, presence)   a number, with what it must be (numbers.hpp)
///     visit.unread(key, text)              a key that the reader passes over; "" where the writer does too
namespace twinstep::hw_profiles {

/// Whether a profile must have a field. A std::optional member may always be left out.
enum class Presence : std::uint8_t {
  kRequired,
  kOptional,  ///< left out where it says nothing
  kStated     ///< may be left out, and is always written
};

/// A count that is stored as a plain integer, and the reason to believe it beside it.
template <class Count, class From>
struct Counted {
  Count& count;
  From& from;
};
template <class Count, class From>
Counted<Count, From> counted(Count& count, From& from) {
  return {count, from};
}

/// A number of a tile, which is there with all of its numbers or not at all.
template <class Tile>
struct TileSide {
  Tile& tile;
  hardware::Sourced<std::int64_t> hardware::GemmTile::*side;
};
template <class Tile>
TileSide<Tile> side_of(Tile& tile, hardware::Sourced<std::int64_t> hardware::GemmTile::*side) {
  return {tile, side};
}

/// An array with one element for each word of an enumeration.
template <class Enum, class Array>
struct ByWord {
  using Word = Enum;
  Array& array;
};
template <class Enum, class Array>
ByWord<Enum, Array> by(Array& array) {
  return {array};
}

/// `Struct`, to be read or written.
template <class T, class Struct>
concept Of = std::same_as<std::remove_const_t<T>, Struct>;

void fields(Of<hardware::Link> auto& link, auto& visit) {
  visit("name", link.name);
  visit("description", link.description, Presence::kStated);
  visit("is_nvlink", link.is_nvlink);
  visit("ring_efficiency", link.ring_efficiency, fraction);
  visit("pair_efficiency", link.pair_efficiency, fraction);
  visit("duplex_efficiency", link.duplex_efficiency, fraction);
  visit("peer_efficiency", link.peer_efficiency, fraction);
  visit("multicast_efficiency", link.multicast_efficiency, fraction_from_zero);
  visit("rack_multicast_efficiency", link.rack_multicast_efficiency, fraction_from_zero);
  visit("multicast_latency", link.multicast_latency, duration);
  visit("ll_limit", link.ll_limit, bandwidth);
}

void fields(Of<hardware::Transport> auto& transport, auto& visit) {
  visit("name", transport.name);
  visit("description", transport.description, Presence::kStated);
  visit("is_rdma", transport.is_rdma);
  visit("has_gpu_direct", transport.has_gpu_direct);
  visit("efficiency", transport.efficiency, fraction);
  visit("lone_gpu_efficiency", transport.lone_gpu_efficiency, fraction);
  visit("step_latency", transport.step_latency, duration);
  visit("is_token_bucket", transport.is_token_bucket, Presence::kStated);
}

void fields(Of<hardware::AttentionKernel> auto& kernel, auto& visit) {
  visit("forward", kernel.forward, fraction);
  visit("backward", kernel.backward, fraction);
}

void fields(Of<hardware::KernelEfficiency> auto& efficiency, auto& visit) {
  using hardware::GemmTile;
  visit("gemm", efficiency.gemm, fraction);
  visit("gemm_fp8", efficiency.gemm_fp8, fraction);
  visit("gemm_half_k", efficiency.gemm_half_k, number_from_zero);
  visit("attention_forward", efficiency.attention_forward, fraction);
  visit("attention_backward", efficiency.attention_backward, fraction);
  visit("memory", efficiency.memory, fraction);
  visit("gemm_tile_rows", side_of(efficiency.gemm_tile, &GemmTile::rows), count);
  visit("gemm_tile_columns", side_of(efficiency.gemm_tile, &GemmTile::columns), count);
  visit("convolution_tile_rows", side_of(efficiency.convolution_tile, &GemmTile::rows), count);
  visit("convolution_tile_columns", side_of(efficiency.convolution_tile, &GemmTile::columns), count);
  visit("attention_kernels", efficiency.attention_kernels, Presence::kOptional);
}

void fields(Of<hardware::Gpu> auto& gpu, auto& visit) {
  visit("name", gpu.name);
  visit("description", gpu.description, Presence::kStated);
  visit.unread("aliases", "");         // catalog.cpp
  visit.unread("reference_node", "");  // facts.cpp
  visit.unread("library", "");         // facts.cpp
  visit("memory_capacity", gpu.memory_capacity, capacity);
  visit("memory_bandwidth", gpu.memory_bandwidth, bandwidth);
  visit("peaks", gpu.peaks, flop_rate);
  visit("sm_count", gpu.sm_count, count);
  visit("compute_capability", gpu.compute_capability, count);
  visit("link_class", gpu.link_class, Presence::kOptional);
  visit("link", gpu.link, bandwidth);
  visit("pcie", gpu.pcie, bandwidth);
  visit("efficiency", gpu.efficiency);
  visit("kernel_start", gpu.kernel_start, duration);
  visit("context_memory", gpu.context_memory, size);
  visit("failures_per_thousand_days", gpu.failures_per_thousand_days, positive_number);
}

void fields(Of<hardware::Host> auto& host, auto& visit) {
  visit("cpu", host.cpu, Presence::kStated);
  visit("launch", host.launch, duration);
  visit("communication_launch", host.communication_launch, duration);
  visit("memory_bandwidth", host.memory_bandwidth, bandwidth);
  visit("memory_efficiency", host.memory_efficiency, fraction, Presence::kOptional);
  visit("memory_capacity", host.memory_capacity, capacity);
}

void fields(Of<hardware::Drives> auto& drives, auto& visit) {
  visit("read", drives.read, bandwidth);
  visit("write", drives.write, bandwidth);
  visit("capacity", drives.capacity, capacity);
}

void fields(Of<hardware::Node> auto& node, auto& visit) {
  visit("name", node.name);
  visit("description", node.description, Presence::kStated);
  visit("gpu", node.gpu);
  visit("gpus", counted(node.gpus, node.gpus_from), count_in_node);
  visit("intra", node.intra);
  // One GPU alone needs no link; everything else needs its rate and its cost.
  auto const with_others = node.intra == hardware::IntraNode::kNone ? Presence::kOptional : Presence::kRequired;
  visit("gpu_link", node.gpu_link, bandwidth, with_others);
  visit("link", node.link, with_others);
  visit("pcie", node.pcie, bandwidth);
  visit("gpus_per_pcie_switch", counted(node.gpus_per_pcie_switch, node.gpus_per_pcie_switch_from), count_in_node);
  visit("gpus_per_host", counted(node.gpus_per_host, node.gpus_per_host_from), count_in_node);
  visit("nics", counted(node.nics, node.nics_from), count_in_node);
  visit("nic", node.nic, bandwidth);
  visit("host", node.host);
  visit("drives", node.drives);
}

void fields(Of<hardware::FabricLevel> auto& level, auto& visit) {
  visit("name", level.name);
  visit("nodes", counted(level.nodes, level.nodes_from), count);
  visit("oversubscription", level.oversubscription, oversubscription);
  visit("hop_latency", level.hop_latency, duration);
  visit("uplinks", counted(level.uplinks, level.uplinks_from), count, Presence::kOptional);
  visit("balancing", level.balancing, Presence::kOptional);
}

void fields(Of<hardware::Fabric> auto& fabric, auto& visit) {
  visit("name", fabric.name);
  visit("description", fabric.description, Presence::kStated);
  visit("transport", fabric.transport);
  visit("is_rail_optimised", fabric.is_rail_optimised);
  visit("port", fabric.port, bandwidth);
  visit("ports_per_node", counted(fabric.ports_per_node, fabric.ports_per_node_from), count);
  visit("levels", fabric.levels);
}

void fields(Of<hardware::ProtocolCost> auto& cost, auto& visit) {
  visit("latency_factor", cost.latency_factor, positive_number);
  visit("wire_efficiency", cost.wire_efficiency, fraction);
  visit("copy_efficiency", cost.copy_efficiency, fraction);
}

void fields(Of<hardware::LauncherCost> auto& cost, auto& visit) {
  visit("fixed", cost.fixed, duration);
  visit("per_gpu", cost.per_gpu, duration);
  visit("per_peer", cost.per_peer, duration);
}

void fields(Of<hardware::ErrorBand> auto& band, auto& visit) {
  visit("low", band.low, positive_number);
  visit("high", band.high, positive_number);
}

void fields(Of<hardware::FixedAlgorithm> auto& fixed, auto& visit) {
  visit("algorithm", fixed.algorithm);
  visit("messages_per_step", fixed.messages_per_step, count);
  visit("half_duplex_beyond", fixed.half_duplex_beyond, size);
}

void fields(Of<hardware::SizeCorrection> auto& correction, auto& visit) {
  visit("algorithm", correction.algorithm);
  visit("protocol", correction.protocol);
  visit("sizes", correction.sizes, size);
  visit("factors", correction.factors, positive_number);
}

void fields(Of<hardware::CollectiveCalibration> auto& calibration, auto& visit) {
  visit("collective", calibration.collective);
  visit("ranks", calibration.ranks, count);
  visit("nodes", calibration.nodes, count);
  visit("smallest", calibration.smallest, size);
  visit("largest", calibration.largest, size);
  visit.unread("basis", name_of(hardware::Basis::kFitted));
  visit("source", calibration.source);
  visit("corrections", calibration.corrections);
  visit("errors", by<hardware::SizeRange>(calibration.errors));
}

void fields(Of<hardware::Library> auto& library, auto& visit) {
  visit("name", library.name);
  visit("description", library.description, Presence::kStated);
  visit("version", library.version, Presence::kStated);
  visit("environment", library.environment, Presence::kStated);
  visit("choice", library.choice);
  visit("algorithms", library.algorithms, Presence::kOptional);
  visit("tuning", library.tuning);
  visit("protocols", by<hardware::Protocol>(library.protocols));
  visit("kernel_start", library.kernel_start, duration);
  visit("tree_efficiency", library.tree_efficiency, fraction);
  visit("multicast_tree_efficiency", library.multicast_tree_efficiency, fraction);
  visit("multicast_chunk_overhead", library.multicast_chunk_overhead, size);
  visit("ll_limit_per_channel", library.ll_limit_per_channel, bandwidth);
  visit("memory_bytes_per_wire_byte", library.memory_bytes_per_wire_byte, number_from_zero);
  visit("buffers", library.buffers, size);
  visit("fitted_on", library.fitted_on, Presence::kStated);
  visit("errors", by<hardware::SizeRange>(library.errors));
  visit("launchers", by<hardware::Launcher>(library.launchers));
  visit("calibrations", library.calibrations, Presence::kOptional);
}

void fields(Of<hardware::FittedFamily> auto& seen, auto& visit) {
  visit("family", seen.family);
  visit("most_nodes", seen.most_nodes, count);
}

void fields(Of<hardware::Stack> auto& stack, auto& visit) {
  visit("name", stack.name);
  visit("description", stack.description, Presence::kStated);
  visit("attention", stack.attention, Presence::kOptional);
  visit("compute", stack.compute, positive_number);
  visit("elementwise", stack.elementwise, positive_number);
  visit("loss", stack.loss, positive_number);
  visit("optimizer", stack.optimizer, positive_number);
  visit("gradient_bytes", stack.gradient_bytes, number_from_zero);
  visit("held_sms", stack.held_sms, fraction_from_zero);
  visit("rank_spread", stack.rank_spread, fraction_from_zero);
  visit("fitted_on", stack.fitted_on, Presence::kStated);
}

void fields(Of<hardware::Allocator> auto& allocator, auto& visit) {
  visit("expandable_segments", allocator.expandable_segments, Presence::kStated);
  visit("max_split", allocator.max_split, size);
}

void fields(Of<hardware::Fault> auto& fault, auto& visit) {
  visit("resource", fault.resource);
  visit("node", fault.node, index);
  visit("rate", fault.rate, fraction_from_zero, Presence::kStated);
}

void fields(Of<hardware::Cluster> auto& cluster, auto& visit) {
  visit("name", cluster.name);
  visit("description", cluster.description, Presence::kStated);
  visit("node", cluster.node());
  visit("fabric", cluster.fabric);
  visit("nodes", cluster.nodes(), count);
  visit("library", cluster.library);
  visit("stack", cluster.stack, Presence::kOptional);
  visit("allocator", cluster.allocator, Presence::kOptional);
  visit("step_error", cluster.step_error);
  visit("faults", cluster.faults, Presence::kStated);
  visit("calibration", cluster.calibration, Presence::kStated);
}

/// A struct whose fields are listed above.
struct AnyVisitor;
template <class T>
concept HasFields = requires(T& machine, AnyVisitor& visit) {
  fields(machine, visit);
};

}  // namespace twinstep::hw_profiles
