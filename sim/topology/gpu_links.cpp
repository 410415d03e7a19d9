#include <array>

#include <fmt/format.h>

#include "sim/topology/pencil.hpp"

namespace twinstep::topology {
namespace {

using hardware::IntraNode;

/// Parallel links between two GPUs of a DGX-1, or 0: `nvidia-smi topo -m` of 8 V100 SXM2 in a hybrid cube mesh. Every
/// GPU has six.
constexpr auto kCubeMesh = std::array<std::array<int, 8>, 8>{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                              {1, 0, 2, 1, 0, 2, 0, 0},
                                                              {1, 2, 0, 2, 0, 0, 1, 0},
                                                              {2, 1, 2, 0, 0, 0, 0, 1},
                                                              {2, 0, 0, 0, 0, 1, 1, 2},
                                                              {0, 2, 0, 0, 1, 0, 2, 1},
                                                              {0, 0, 1, 0, 1, 2, 0, 2},
                                                              {0, 0, 0, 1, 2, 1, 2, 0}}};
constexpr double kCubeMeshLinks = 6;

/// The part of a GPU's whole rate that leads from it straight to another one.
double share(Pencil const& pencil, std::int64_t from, std::int64_t to) {
  if (pencil.node().intra == IntraNode::kMesh) return 1.0 / static_cast<double>(pencil.node().gpus - 1);
  return kCubeMesh[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] / kCubeMeshLinks;
}

/// The end of a GPU's links towards the others: what all of them carry together.
struct Ports {
  VertexId out;
  VertexId in;
};

/// What links are called: their class without its generation, "nvlink4" or "xgmi".
std::string link_kind(hardware::Link const& link) {
  auto const last = link.name.find_last_not_of("0123456789");
  return link.is_nvlink && last != std::string::npos ? link.name.substr(0, last + 1) : "nvlink";
}

ResourceId add_link(Pencil& pencil, std::string name, BytesPerSecond bandwidth) {
  auto const id = pencil.add_in_node(std::move(name), link_kind(pencil.node().link), bandwidth, 1);
  pencil.drawing.resources[id.index()].is_gpu_link = true;
  return id;
}

Ports add_ports(Pencil& pencil, std::int64_t gpu, Ports ports) {
  auto& drawing = pencil.drawing;
  auto const name = fmt::format("gpu{}.{}", gpu, link_kind(pencil.node().link));
  auto const rate = pencil.node().gpu_link.value;
  drawing.port_out.push_back(add_link(pencil, name + ".out", rate));
  drawing.port_in.push_back(add_link(pencil, name + ".in", rate));
  pencil.join(drawing.links, Pencil::vertex(drawing.gpus, gpu), ports.out, drawing.port_out.back());
  pencil.join(drawing.links, ports.in, Pencil::vertex(drawing.gpus, gpu), drawing.port_in.back());
  return ports;
}

/// Switches that give every GPU its full rate to any other: one for all, or one for each pair that a bridge joins.
void draw_crossbars(Pencil& pencil, std::int64_t gpus_each) {
  auto crossbar = VertexId{};
  for (auto gpu = std::int64_t{0}; gpu < pencil.node().gpus; ++gpu) {
    if (gpu % gpus_each == 0) crossbar = pencil.drawing.links.add_vertex();
    add_ports(pencil, gpu, {crossbar, crossbar});
  }
}

/// A link of its own from each GPU to each that it is joined to.
void draw_mesh(Pencil& pencil) {
  auto& graph = pencil.drawing.links;
  auto const gpus = pencil.node().gpus;
  auto ports = std::vector<Ports>{};
  for (auto gpu = std::int64_t{0}; gpu < gpus; ++gpu)
    ports.push_back(add_ports(pencil, gpu, {graph.add_vertex(), graph.add_vertex()}));
  auto const kind = link_kind(pencil.node().link);
  for (auto from = std::int64_t{0}; from < gpus; ++from) {
    auto& row = pencil.drawing.mesh.emplace_back();
    for (auto to = std::int64_t{0}; to < gpus; ++to) {
      auto const part = from == to ? 0 : share(pencil, from, to);
      row.push_back(part);
      if (part == 0) continue;
      pencil.join(graph, ports[static_cast<std::size_t>(from)].out, ports[static_cast<std::size_t>(to)].in,
                  add_link(pencil, fmt::format("gpu{}.{}.gpu{}", from, kind, to), pencil.node().gpu_link.value * part));
    }
  }
}

}  // namespace

void draw_gpu_links(Pencil& pencil) {
  for (auto gpu = std::int64_t{0}; gpu < pencil.node().gpus; ++gpu) pencil.drawing.links.add_vertex();
  switch (pencil.node().intra) {
    case IntraNode::kNvSwitch: draw_crossbars(pencil, pencil.node().gpus); break;
    case IntraNode::kPairs: draw_crossbars(pencil, 2); break;
    case IntraNode::kMesh:
    case IntraNode::kCubeMesh: draw_mesh(pencil); break;
    default: break;
  }
}

}  // namespace twinstep::topology
