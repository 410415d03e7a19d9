#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/cluster.hpp"

namespace twinstep::topology {

using VertexId = Id<struct VertexTag>;  ///< a GPU, a switch, a NIC, a memory

/// A one-way connection between two vertices.
struct Edge {
  VertexId from;
  VertexId to;
  ResourceId resource;  ///< what crossing it loads; none if it never limits anything
  Duration latency;
  BytesPerSecond bandwidth;  ///< ignored without a resource
};

/// The resources that a message loads on its way, in order.
using Links = std::vector<ResourceId>;

/// The best routes from one vertex to every other.
class RouteTree {
 public:
  [[nodiscard]] bool reaches(VertexId target) const;
  /// The route to `target`. Requires that one exists. Cost O(its length).
  [[nodiscard]] Links to(VertexId target) const;

 private:
  friend class LinkGraph;
  VertexId source_;
  std::vector<std::size_t> previous_;   ///< by vertex: the one before it
  std::vector<ResourceId> entered_by_;  ///< by vertex: resource of the edge from there
};

/// A directed graph of links.
class LinkGraph {
 public:
  LinkGraph();
  LinkGraph(LinkGraph&& other) noexcept;
  LinkGraph& operator=(LinkGraph&& other) noexcept;
  ~LinkGraph();

  VertexId add_vertex();
  void add_edge(Edge const& edge);

  /// Dijkstra's algorithm. A route is better if its latency is lower, then if it has fewer edges, then if its
  /// narrowest link is wider; among equals the one whose edges were added first stays. Cost O(E log V).
  [[nodiscard]] RouteTree routes_from(VertexId source) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

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
