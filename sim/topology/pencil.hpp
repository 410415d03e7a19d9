#pragma once

#include <string>

#include "sim/topology/drawing.hpp"

namespace twinstep::topology {

/// What the parts of a drawing have in common: adding resources, and joining vertices over them.
class Pencil {
 public:
  Pencil(hardware::Cluster const& cluster, IsBroken const& is_broken)
      : cluster_{&cluster}, node_{&cluster.node()}, is_broken_{&is_broken} {}

  [[nodiscard]] hardware::Cluster const& cluster() const { return *cluster_; }
  [[nodiscard]] hardware::Node const& node() const { return *node_; }
  [[nodiscard]] bool is_broken(std::string const& resource) const { return (*is_broken_)(resource); }

  ResourceId add(Resource resource) {
    drawing.resources.push_back(std::move(resource));
    return ResourceId{drawing.resources.size() - 1};
  }

  /// A resource that every node has once, shared by `gpus` of its GPUs.
  ResourceId add_in_node(std::string name, std::string kind, BytesPerSecond bandwidth, std::int64_t gpus) {
    auto resource = Resource{std::move(name), std::move(kind)};
    resource.bandwidth = bandwidth;
    resource.instances = cluster_->nodes();
    resource.gpus = gpus;
    return add(std::move(resource));
  }

  void join(LinkGraph& graph, VertexId from, VertexId to, ResourceId by = {}) {
    auto edge = Edge{from, to, by, {}, {}};
    if (by.exists()) {
      auto const& resource = drawing.resources[by.index()];
      if (is_broken(resource.name)) return;
      edge.latency = resource.latency;
      edge.bandwidth = resource.bandwidth;
    }
    graph.add_edge(edge);
  }

  /// Both directions between `inner` and `outer`, as "<name>.out" and "<name>.in".
  void join_both_ways(LinkGraph& graph, VertexId inner, VertexId outer, std::string const& name, char const* kind,
                      BytesPerSecond bandwidth, std::int64_t gpus) {
    auto const out = add_in_node(name + ".out", kind, bandwidth, gpus);
    auto const in = add_in_node(name + ".in", kind, bandwidth, gpus);
    drawing.resources[out.index()].heading = Heading::kOut;
    drawing.resources[in.index()].heading = Heading::kIn;
    join(graph, inner, outer, out);
    join(graph, outer, inner, in);
  }

  static VertexId vertex(std::vector<VertexId> const& vertices, std::int64_t index) {
    return vertices[static_cast<std::size_t>(index)];
  }

  Drawing drawing;

 private:
  hardware::Cluster const* cluster_;
  hardware::Node const* node_;
  IsBroken const* is_broken_;
};

/// What joins the GPUs of a node beside PCIe (gpu_links.cpp).
void draw_gpu_links(Pencil& pencil);

}  // namespace twinstep::topology
