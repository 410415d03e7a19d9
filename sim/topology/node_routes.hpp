#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "sim/topology/routing.hpp"

namespace twinstep::topology {

struct Drawing;

/// All routes of one node, in a table whose places mean the same in every node of a cluster.
class NodeRoutes {
 public:
  /// `where` names the node in messages. Throws InputError where its faults cut a GPU off.
  NodeRoutes(hardware::Cluster const& cluster, Drawing const& drawing, std::string const& where);

  // Places in the table.
  [[nodiscard]] std::size_t within(std::int64_t from, std::int64_t to) const {
    return static_cast<std::size_t>(from * gpus_ + to);
  }
  [[nodiscard]] std::size_t ring(std::int64_t from, std::int64_t to) const {
    return has_ports_ ? pairs_ + within(from, to) : within(from, to);
  }
  [[nodiscard]] std::size_t out(std::int64_t gpu) const { return of_gpu(0, gpu); }
  [[nodiscard]] std::size_t in(std::int64_t gpu) const { return of_gpu(1, gpu); }
  [[nodiscard]] std::size_t to_host(std::int64_t gpu) const { return of_gpu(2, gpu); }
  [[nodiscard]] std::size_t from_host(std::int64_t gpu) const { return of_gpu(3, gpu); }

  [[nodiscard]] Links const& at(std::size_t place) const { return table_[place]; }
  /// The NIC, as drawn, that a GPU uses.
  [[nodiscard]] std::int64_t nic_of(std::int64_t gpu) const { return nic_of_[static_cast<std::size_t>(gpu)]; }

 private:
  [[nodiscard]] std::size_t of_gpu(std::size_t which, std::int64_t gpu) const {
    return pairs_ * (has_ports_ ? 2 : 1) + which * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(gpu);
  }

  std::int64_t gpus_ = 1;
  std::size_t pairs_ = 1;
  bool has_ports_ = false;  ///< rings are bound by a GPU's ports, not by the link to one neighbour
  std::vector<Links> table_;
  std::vector<std::int64_t> nic_of_;
};

}  // namespace twinstep::topology
