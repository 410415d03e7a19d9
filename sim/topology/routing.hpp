#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

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

}  // namespace twinstep::topology
