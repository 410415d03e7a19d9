#include "sim/topology/routing.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

#include "sim/base/check.hpp"

namespace twinstep::topology {

// LinkGraph::Graph holds these two, so they are as visible as it is.
struct RouteCost {
  std::int64_t latency = 0;
  std::int64_t edges = 0;
  double width = std::numeric_limits<double>::infinity();
};

struct EdgeProperties {
  RouteCost cost;
  ResourceId resource;
};

namespace {

struct IsBetter {
  bool operator()(RouteCost const& a, RouteCost const& b) const {
    return std::tuple{a.latency, a.edges, -a.width} < std::tuple{b.latency, b.edges, -b.width};
  }
};

struct Extend {
  RouteCost operator()(RouteCost const& route, RouteCost const& edge) const {
    return {route.latency + edge.latency, route.edges + edge.edges, std::min(route.width, edge.width)};
  }
};

using BoostGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, EdgeProperties>;

/// Remembers by which edge the best route so far enters a vertex.
struct EntryRecorder : boost::default_dijkstra_visitor {
  std::vector<ResourceId>* entered_by;

  template <class GraphEdge, class G>
  void edge_relaxed(GraphEdge const& edge, G const& graph) {
    (*entered_by)[boost::target(edge, graph)] = graph[edge].resource;
  }
};

/// Larger than any route, small enough to be added to.
constexpr auto kUnreachable = RouteCost{std::numeric_limits<std::int64_t>::max() / 4, 0, 0};

}  // namespace

struct LinkGraph::Graph {
  BoostGraph boost;
};

LinkGraph::LinkGraph() : graph_{std::make_unique<Graph>()} {}
LinkGraph::LinkGraph(LinkGraph&&) noexcept = default;
LinkGraph& LinkGraph::operator=(LinkGraph&&) noexcept = default;
LinkGraph::~LinkGraph() = default;

VertexId LinkGraph::add_vertex() {
  return VertexId{boost::add_vertex(graph_->boost)};
}

void LinkGraph::add_edge(Edge const& edge) {
  auto const width = edge.resource.exists() ? edge.bandwidth.count() : std::numeric_limits<double>::infinity();
  auto const cost = RouteCost{edge.latency.count(), 1, width};
  boost::add_edge(edge.from.index(), edge.to.index(), EdgeProperties{cost, edge.resource}, graph_->boost);
}

RouteTree LinkGraph::routes_from(VertexId source) const {
  auto const& graph = graph_->boost;
  auto const vertices = boost::num_vertices(graph);
  auto tree = RouteTree{};
  tree.source_ = source;
  tree.previous_.resize(vertices);
  tree.entered_by_.resize(vertices);
  auto best = std::vector<RouteCost>(vertices);
  boost::dijkstra_shortest_paths(graph, source.index(),
                                 boost::weight_map(boost::get(&EdgeProperties::cost, graph))
                                     .predecessor_map(tree.previous_.data())
                                     .distance_map(best.data())
                                     .distance_compare(IsBetter{})
                                     .distance_combine(Extend{})
                                     .distance_inf(kUnreachable)
                                     .distance_zero(RouteCost{})
                                     .visitor(EntryRecorder{{}, &tree.entered_by_}));
  return tree;
}

bool RouteTree::reaches(VertexId target) const {
  return target == source_ || previous_[target.index()] != target.index();
}

Links RouteTree::to(VertexId target) const {
  auto links = Links{};
  for (auto vertex = target.index(); vertex != source_.index(); vertex = previous_[vertex]) {
    TWINSTEP_CHECK(previous_[vertex] != vertex, "every part of a machine can be reached");
    if (entered_by_[vertex].exists()) links.push_back(entered_by_[vertex]);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

}  // namespace twinstep::topology
