#include <cstdlib>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/topology/drawing.hpp"
#include "sim/topology/routing.hpp"

namespace twinstep::topology {
namespace {

using hardware::IntraNode;

/// Finds the routes of one node in its drawing.
class Finder {
 public:
  Finder(hardware::Cluster const& cluster, Drawing const& drawing, std::string const& where)
      : cluster_{cluster}, drawing_{drawing}, where_{where} {
    for (auto const memory : drawing.memories) from_memory_.push_back(drawing.host.routes_from(memory));
    for (auto const gpu : drawing.gpus) {
      from_gpu_.push_back(drawing.host.routes_from(gpu));
      over_links_.push_back(drawing.links.routes_from(gpu));
    }
    for (auto const nic : drawing.nics) from_nic_.push_back(drawing.host.routes_from(nic));
    if (!drawing.nics.empty()) from_leaf_ = drawing.host.routes_from(drawing.leaf);
  }

  [[nodiscard]] Links within(std::size_t from, std::size_t to) const {
    if (from == to) return {};
    auto const target = drawing_.gpus[to];
    if (over_links_[from].reaches(target)) return over_links_[from].to(target);
    if (!from_gpu_[from].reaches(target))
      throw InputError{
          fmt::format("cluster.faults: GPU {} of {} cannot reach GPU {}; leave one of its links", from, where_, to)};
    if (cluster_.node().intra == IntraNode::kPcieStaged) return joined(to_host(from), from_host(to));
    return from_gpu_[from].to(target);
  }

  /// Over all links of both GPUs, as the rings of a mesh go.
  [[nodiscard]] Links ring(std::size_t from, std::size_t to) const {
    if (from == to || !over_links_[from].reaches(drawing_.gpus[to])) return within(from, to);
    return {drawing_.port_out[from], drawing_.port_in[to]};
  }

  [[nodiscard]] Links to_host(std::size_t gpu) const { return from_gpu_[gpu].to(drawing_.memories[host_of(gpu)]); }
  [[nodiscard]] Links from_host(std::size_t gpu) const { return from_memory_[host_of(gpu)].to(drawing_.gpus[gpu]); }

  /// Its own NIC, or the working one with the shortest way; of those the nearest by number.
  [[nodiscard]] std::size_t nic(std::size_t gpu) const {
    auto const own = gpu * drawing_.nics.size() / drawing_.gpus.size();
    if (!drawing_.is_nic_broken[own]) return own;
    using Rank = std::tuple<std::size_t, std::int64_t>;
    auto best = std::optional<std::pair<Rank, std::size_t>>{};
    for (std::size_t nic = 0; nic < drawing_.nics.size(); ++nic) {
      if (drawing_.is_nic_broken[nic] || !reaches(gpu, nic)) continue;
      auto const distance = std::abs(static_cast<std::int64_t>(nic) - static_cast<std::int64_t>(own));
      auto const rank = Rank{way_to(gpu, nic).size(), distance};
      if (!best || rank < best->first) best = {rank, nic};
    }
    if (best) return best->second;
    throw InputError{
        fmt::format("cluster.faults: found no working NIC for GPU {} of {}; leave one, or use nodes that "
                    "have one",
                    gpu, where_)};
  }

  [[nodiscard]] Links out(std::size_t gpu, std::size_t nic) const {
    return joined(way_to(gpu, nic), from_nic_[nic].to(drawing_.leaf));
  }

  [[nodiscard]] Links in(std::size_t gpu, std::size_t nic) const {
    auto const via = neighbour_of(gpu, nic);
    auto const memory = drawing_.memories[host_of(via)];
    auto const way =
        is_staged_outside() ? joined(from_nic_[nic].to(memory), from_host(via)) : from_nic_[nic].to(drawing_.gpus[via]);
    return joined(joined(from_leaf_->to(drawing_.nics[nic]), way), within(via, gpu));
  }

 private:
  /// The GPU through which traffic of `gpu` passes to a NIC: itself, or, where the NIC belongs to another tray of a
  /// rack, the one at its place there, over NVLink. (A leaf is no way between NICs of one node.) Source: NCCL's PXN,
  /// src/graph/paths.cc, ncclTopoComputePaths.
  [[nodiscard]] std::size_t neighbour_of(std::size_t gpu, std::size_t nic) const {
    auto const host = drawing_.host_of_nic[nic];
    auto const gpus_of_host = drawing_.gpus.size() / drawing_.memories.size();
    return host_of(gpu) == host ? gpu : host * gpus_of_host + gpu % gpus_of_host;
  }
  [[nodiscard]] bool reaches(std::size_t gpu, std::size_t nic) const {
    auto const via = neighbour_of(gpu, nic);
    return (via == gpu || over_links_[gpu].reaches(drawing_.gpus[via])) && from_gpu_[via].reaches(drawing_.nics[nic]);
  }
  [[nodiscard]] Links way_to(std::size_t gpu, std::size_t nic) const {
    auto const via = neighbour_of(gpu, nic);
    auto const place = drawing_.nics[nic];
    auto const from_via =
        is_staged_outside() ? joined(to_host(via), from_memory_[host_of(via)].to(place)) : from_gpu_[via].to(place);
    return joined(within(gpu, via), from_via);
  }

  [[nodiscard]] bool is_staged_outside() const { return !cluster_.fabric.transport.has_gpu_direct; }
  [[nodiscard]] std::size_t host_of(std::size_t gpu) const {
    return gpu * drawing_.memories.size() / drawing_.gpus.size();
  }
  static Links joined(Links first, Links const& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  hardware::Cluster const& cluster_;
  Drawing const& drawing_;
  std::string const& where_;
  std::vector<RouteTree> from_gpu_;
  std::vector<RouteTree> over_links_;
  std::vector<RouteTree> from_memory_;  // by host
  std::vector<RouteTree> from_nic_;
  std::optional<RouteTree> from_leaf_;
};

}  // namespace

NodeRoutes::NodeRoutes(hardware::Cluster const& cluster, Drawing const& drawing, std::string const& where)
    : gpus_{cluster.node().gpus},
      pairs_{drawing.gpus.size() * drawing.gpus.size()},
      has_ports_{cluster.node().intra == IntraNode::kMesh || cluster.node().intra == IntraNode::kCubeMesh} {
  auto const find = Finder{cluster, drawing, where};
  auto const gpus = drawing.gpus.size();
  auto const has_network = !drawing.nics.empty();
  for (std::size_t from = 0; from < gpus; ++from)
    for (std::size_t to = 0; to < gpus; ++to) table_.push_back(find.within(from, to));
  for (std::size_t from = 0; has_ports_ && from < gpus; ++from)
    for (std::size_t to = 0; to < gpus; ++to) table_.push_back(find.ring(from, to));
  for (std::size_t gpu = 0; has_network && gpu < gpus; ++gpu)
    nic_of_.push_back(static_cast<std::int64_t>(find.nic(gpu)));
  auto const nic = [&](std::size_t gpu) { return static_cast<std::size_t>(nic_of_[gpu]); };
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) table_.push_back(has_network ? find.out(gpu, nic(gpu)) : Links{});
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) table_.push_back(has_network ? find.in(gpu, nic(gpu)) : Links{});
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) table_.push_back(find.to_host(gpu));
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) table_.push_back(find.from_host(gpu));
}

}  // namespace twinstep::topology
