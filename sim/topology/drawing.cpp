#include "sim/topology/drawing.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace twinstep::topology {
namespace {

using hardware::IntraNode;

/// Draws one cluster, from the GPUs outwards.
class Pencil {
 public:
  explicit Pencil(hardware::Cluster const& cluster) : cluster_{cluster}, node_{cluster.node} {}

  Drawing finish() && {
    draw_gpus();
    draw_host();
    if (node_.intra == IntraNode::kNvSwitch) draw_crossbar();
    draw_fabric();
    return std::move(drawing_);
  }

 private:
  ResourceId add(Resource resource) {
    drawing_.resources.push_back(std::move(resource));
    return ResourceId{drawing_.resources.size() - 1};
  }

  void join(VertexId from, VertexId to, ResourceId by = {}) {
    auto edge = Edge{from, to, by, {}, {}};
    if (by.exists()) {
      edge.latency = drawing_.resources[by.index()].latency;
      edge.bandwidth = drawing_.resources[by.index()].bandwidth;
    }
    drawing_.graph.add_edge(edge);
  }

  /// A resource that every node has once, shared by `gpus` of its GPUs.
  ResourceId add_in_node(std::string name, std::string kind, BytesPerSecond bandwidth, std::int64_t gpus) {
    return add({std::move(name), std::move(kind), false, bandwidth, {}, cluster_.nodes, gpus});
  }

  /// Both directions between `inner` and `outer`, as "<name>.out" and "<name>.in".
  void join_both_ways(VertexId inner, VertexId outer, std::string const& name, char const* kind,
                      BytesPerSecond bandwidth, std::int64_t gpus) {
    join(inner, outer, add_in_node(name + ".out", kind, bandwidth, gpus));
    join(outer, inner, add_in_node(name + ".in", kind, bandwidth, gpus));
  }

  void draw_gpus() {
    for (auto gpu = std::int64_t{0}; gpu < node_.gpus; ++gpu) drawing_.gpus.push_back(drawing_.graph.add_vertex());
    drawing_.hbm = add({"gpu0.hbm",
                        "hbm",
                        false,
                        node_.gpu.memory_bandwidth.value,
                        {},
                        cluster_.nodes * node_.gpus,
                        1,
                        1,
                        node_.gpus});
  }

  /// PCIe switches where the node has them, the CPU root, and host memory, which a staged message writes and reads.
  void draw_host() {
    root_ = drawing_.graph.add_vertex();
    drawing_.host_memory = drawing_.graph.add_vertex();
    auto const dram = add_in_node("host.dram", "host memory", node_.host.memory_bandwidth.value, node_.gpus);
    join(root_, drawing_.host_memory, dram);
    join(drawing_.host_memory, root_, dram);

    // An NVSwitch node pairs each GPU with its NIC under a PCIe switch even where no two GPUs share one.
    auto const below = node_.gpus_per_pcie_switch;
    auto const has_switches = below > 1 || node_.intra == IntraNode::kNvSwitch;
    for (auto first = std::int64_t{0}; has_switches && first < node_.gpus; first += below) {
      switches_.push_back(drawing_.graph.add_vertex());
      if (below > 1) {
        auto const name = fmt::format("pcie_switch{}", switches_.size() - 1);
        join_both_ways(switches_.back(), root_, name, "pcie", node_.pcie.value, below);
      } else {
        join(switches_.back(), root_);  // exactly as wide as the one slot below it
        join(root_, switches_.back());
      }
    }
    auto const is_linked_by_pcie = node_.intra == IntraNode::kPcieP2p || node_.intra == IntraNode::kPcieStaged;
    auto const slot = is_linked_by_pcie ? node_.gpu_link.value : node_.pcie.value;
    for (auto gpu = std::int64_t{0}; gpu < node_.gpus; ++gpu)
      join_both_ways(vertex(drawing_.gpus, gpu), pcie_parent(gpu), fmt::format("gpu{}.pcie", gpu), "pcie", slot, 1);
  }

  void draw_crossbar() {
    auto const crossbar = drawing_.graph.add_vertex();
    for (auto gpu = std::int64_t{0}; gpu < node_.gpus; ++gpu)
      join_both_ways(vertex(drawing_.gpus, gpu), crossbar, fmt::format("gpu{}.nvlink", gpu), "nvlink",
                     node_.gpu_link.value, 1);
  }

  void draw_fabric() {
    auto const& fabric = cluster_.fabric;
    auto const plugged = fabric.ports_per_node > 0 ? std::min(fabric.ports_per_node, node_.nics) : node_.nics;
    auto const drawn = std::min(plugged, node_.gpus);
    auto const one = std::min(node_.nic.value, fabric.port.value);
    if (drawn <= 0 || one.count() <= 0) return;
    auto const rate = one * (static_cast<double>(plugged) / static_cast<double>(drawn));
    drawing_.leaf = drawing_.graph.add_vertex();
    auto const leaf_latency = fabric.levels.empty() ? Duration{} : fabric.levels.front().hop_latency.value;
    for (auto nic = std::int64_t{0}; nic < drawn; ++nic) draw_nic(nic, drawn, rate, leaf_latency);
    draw_tiers(drawn, rate);
  }

  /// A NIC sits beside its GPUs if one PCIe switch holds all of them, otherwise on the root.
  void draw_nic(std::int64_t nic, std::int64_t nics, BytesPerSecond rate, Duration leaf_latency) {
    auto const first = divide_up(nic * node_.gpus, nics);
    auto const last = divide_up((nic + 1) * node_.gpus, nics) - 1;
    auto const parent = pcie_parent(first) == pcie_parent(last) ? pcie_parent(first) : root_;
    auto const place = drawing_.graph.add_vertex();
    drawing_.nics.push_back(place);
    join(parent, place);
    join(place, parent);
    auto const gpus = last - first + 1;
    join(place, drawing_.leaf,
         add({fmt::format("nic{}.out", nic), "nic", true, rate, leaf_latency, cluster_.nodes, gpus}));
    join(drawing_.leaf, place, add({fmt::format("nic{}.in", nic), "nic", true, rate, {}, cluster_.nodes, gpus}));
  }

  void draw_tiers(std::int64_t nics, BytesPerSecond rate) {
    auto const& fabric = cluster_.fabric;
    auto below = drawing_.leaf;
    auto narrowing = 1.0;
    for (auto level = std::size_t{0}; level + 1 < fabric.levels.size(); ++level) {
      auto const& tier = fabric.levels[level];
      auto const is_rail = fabric.is_rail_optimised && level == 0;
      narrowing *= tier.oversubscription.value;
      auto const nics_below = tier.nodes * (is_rail ? 1 : nics);
      auto const width = rate * (static_cast<double>(nics_below) / narrowing);
      auto const groups = divide_up(cluster_.nodes, tier.nodes) * (is_rail ? nics : 1);
      auto const gpus = tier.nodes * node_.gpus / (is_rail ? nics : 1);
      auto const next = drawing_.graph.add_vertex();
      auto const kind = tier.name + " uplink";
      auto const next_latency = fabric.levels[level + 1].hop_latency.value;
      auto const rails = is_rail ? nics : 1;
      drawing_.up.push_back(add({tier.name + ".up", kind, true, width, next_latency, groups, gpus, tier.nodes, rails}));
      drawing_.down.push_back(
          add({tier.name + ".down", kind, true, width, tier.hop_latency.value, groups, gpus, tier.nodes, rails}));
      join(below, next, drawing_.up.back());
      join(next, below, drawing_.down.back());
      below = next;
    }
  }

  static VertexId vertex(std::vector<VertexId> const& vertices, std::int64_t index) {
    return vertices[static_cast<std::size_t>(index)];
  }
  VertexId pcie_parent(std::int64_t gpu) const {
    return switches_.empty() ? root_ : vertex(switches_, gpu / node_.gpus_per_pcie_switch);
  }

  hardware::Cluster const& cluster_;
  hardware::Node const& node_;
  Drawing drawing_;
  VertexId root_;
  std::vector<VertexId> switches_;
};

}  // namespace

Drawing draw(hardware::Cluster const& cluster) {
  return Pencil{cluster}.finish();
}

}  // namespace twinstep::topology
