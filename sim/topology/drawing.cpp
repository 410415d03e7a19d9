#include "sim/topology/drawing.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/topology/pencil.hpp"

namespace twinstep::topology {
namespace {

using hardware::IntraNode;

/// Draws one cluster, from the GPUs outwards.
class Machine : public Pencil {
 public:
  using Pencil::Pencil;

  Drawing finish() && {
    draw_gpus();
    draw_hosts();
    draw_gpu_links(*this);
    draw_fabric();
    return std::move(drawing);
  }

 private:
  void draw_gpus() {
    for (auto gpu = std::int64_t{0}; gpu < node().gpus; ++gpu) drawing.gpus.push_back(drawing.host.add_vertex());
    auto hbm = Resource{"gpu0.hbm", "hbm"};
    hbm.bandwidth = node().gpu.memory_bandwidth.value;
    hbm.instances = cluster().nodes() * node().gpus;
    hbm.per_nodes = node().gpus;
    drawing.hbm = add(std::move(hbm));
  }

  /// One host, or the trays of a rack.
  void draw_hosts() {
    auto const gpus = node().gpus_on_host();
    for (auto first = std::int64_t{0}; first < node().gpus; first += gpus) draw_host(first, gpus);
  }

  /// PCIe switches where the node has them, the CPU root, and host memory, which a staged message writes and reads.
  void draw_host(std::int64_t first_gpu, std::int64_t gpus) {
    auto& graph = drawing.host;
    auto const is_only_one = gpus == node().gpus;
    auto const root = graph.add_vertex();
    auto const memory = graph.add_vertex();
    auto const name = is_only_one ? std::string{"host.dram"} : fmt::format("host{}.dram", roots_.size());
    auto const dram = add_in_node(name, "host memory", node().host.memory_bandwidth.value, gpus);
    drawing.host_memory.push_back(dram);
    if (node().drives) draw_drives(is_only_one ? "host" : fmt::format("host{}", roots_.size()), gpus);
    join(graph, root, memory, dram);
    join(graph, memory, root, dram);
    roots_.push_back(root);
    drawing.memories.push_back(memory);

    // A node with NVLink pairs each GPU with its NIC under a PCIe switch even where no two GPUs share one.
    auto const below = std::min(node().gpus_per_pcie_switch, gpus);
    auto const has_switches = below > 1 || node().intra == IntraNode::kNvSwitch || node().intra == IntraNode::kMesh;
    for (auto first = std::int64_t{0}; has_switches && first < gpus; first += below) {
      auto const place = graph.add_vertex();
      auto const held = std::min(below, gpus - first);  // the last one may have fewer
      if (held > 1) {
        join_both_ways(graph, place, root, fmt::format("pcie_switch{}", switches_), "pcie", node().pcie.value, held);
      } else {
        join(graph, place, root);  // exactly as wide as the one slot below it
        join(graph, root, place);
      }
      ++switches_;
      for (auto i = std::int64_t{0}; i < held; ++i) parents_.push_back(place);
    }
    if (!has_switches) parents_.resize(static_cast<std::size_t>(first_gpu + gpus), root);
    auto const is_linked_by_pcie = node().intra == IntraNode::kPcieP2p || node().intra == IntraNode::kPcieStaged;
    auto const slot = is_linked_by_pcie ? node().gpu_link.value : node().pcie.value;
    for (auto gpu = first_gpu; gpu < first_gpu + gpus; ++gpu)
      join_both_ways(graph, vertex(drawing.gpus, gpu), vertex(parents_, gpu), fmt::format("gpu{}.pcie", gpu), "pcie",
                     slot, 1);
  }

  void draw_drives(std::string const& host, std::int64_t gpus) {
    drawing.drives_read.push_back(add_in_node(host + ".drives.read", "nvme", node().drives->read.value, gpus));
    drawing.drives_write.push_back(add_in_node(host + ".drives.write", "nvme", node().drives->write.value, gpus));
  }

  void draw_fabric() {
    auto const& fabric = cluster().fabric;
    auto const plugged = cluster().nics();
    auto const drawn = std::min(plugged, node().gpus);
    auto const one = std::min(node().nic.value, fabric.port.value);
    if (drawn <= 0 || one.count() <= 0) return;
    auto const rate = one * (static_cast<double>(plugged) / static_cast<double>(drawn));
    drawing.leaf = drawing.host.add_vertex();
    auto const leaf_latency = fabric.levels.empty() ? Duration{} : fabric.levels.front().hop_latency.value;
    for (auto nic = std::int64_t{0}; nic < drawn; ++nic) draw_nic(nic, drawn, rate, leaf_latency);
    draw_tiers(drawn, rate);
  }

  /// A NIC sits beside its GPUs if one PCIe switch holds all of them, otherwise on the root of its first one's tray.
  void draw_nic(std::int64_t nic, std::int64_t nics, BytesPerSecond rate, Duration leaf_latency) {
    auto& graph = drawing.host;
    auto const first = divide_up(nic * node().gpus, nics);
    auto const last = divide_up((nic + 1) * node().gpus, nics) - 1;
    auto const is_beside = vertex(parents_, first) == vertex(parents_, last);
    auto const gpus_of_host = node().gpus_on_host();
    auto const parent = is_beside ? vertex(parents_, first) : vertex(roots_, first / gpus_of_host);
    auto const place = graph.add_vertex();
    drawing.nics.push_back(place);
    drawing.host_of_nic.push_back(static_cast<std::size_t>(first / gpus_of_host));
    drawing.is_nic_broken.push_back(is_broken(fmt::format("nic{}.out", nic)) ||
                                    is_broken(fmt::format("nic{}.in", nic)));
    join(graph, parent, place);
    join(graph, place, parent);
    auto out = Resource{fmt::format("nic{}.out", nic), "nic", true, rate, leaf_latency, cluster().nodes()};
    out.gpus = last - first + 1;
    out.heading = Heading::kOut;
    auto in = out;
    in.name = fmt::format("nic{}.in", nic);
    in.latency = {};
    in.heading = Heading::kIn;
    join(graph, place, drawing.leaf, add(std::move(out)));
    join(graph, drawing.leaf, place, add(std::move(in)));
  }

  void draw_tiers(std::int64_t nics, BytesPerSecond rate) {
    auto const& fabric = cluster().fabric;
    auto narrowing = 1.0;
    for (auto level = std::size_t{0}; level + 1 < fabric.levels.size(); ++level) {
      auto const& tier = fabric.levels[level];
      auto const is_rail = fabric.is_rail_optimised && level == 0;
      auto const rails = is_rail ? nics : 1;
      narrowing *= tier.oversubscription.value;
      auto const nics_below = tier.nodes * nics / rails;
      auto const width = rate * (static_cast<double>(nics_below) / narrowing);
      auto up = Resource{tier.name + ".up", tier.name + " uplink", true, width};
      up.latency = fabric.levels[level + 1].hop_latency.value;
      up.instances = divide_up(cluster().nodes(), tier.nodes) * rails;
      up.gpus = tier.nodes * node().gpus / rails;
      up.nodes_below = tier.nodes;
      up.per_nodes = rails;
      up.links = tier.uplinks;
      up.heading = Heading::kOut;
      auto down = up;
      down.heading = Heading::kIn;
      down.name = tier.name + ".down";
      down.latency = tier.hop_latency.value;
      drawing.up.push_back(add(std::move(up)));
      drawing.down.push_back(add(std::move(down)));
    }
  }

  std::vector<VertexId> roots_;    // by host
  std::vector<VertexId> parents_;  // by GPU: what its slot leads to
  std::int64_t switches_ = 0;
};

}  // namespace

Drawing draw(hardware::Cluster const& cluster, IsBroken const& is_broken) {
  return Machine{cluster, is_broken}.finish();
}

}  // namespace twinstep::topology
