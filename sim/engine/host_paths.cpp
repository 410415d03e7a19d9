#include "sim/engine/host_paths.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::engine {
namespace {

using namespace program;

bool uses_host(Role const& role) {
  return std::ranges::any_of(role.operations, [&](Operation const& op) {
    if (op.is_on_host()) return false;
    auto const* copy = std::get_if<Copy>(&op.work);
    return role.streams[op.stream.index()].is_on_host ||
           (copy != nullptr && copy->direction != CopyDirection::kDeviceToDevice);
  });
}

/// The GPUs of one node that ranks of one cell have.
struct CellOnNode {
  std::int64_t node = 0;
  std::int64_t gpu = 0;            // of the representative
  std::vector<std::int64_t> gpus;  // its own included
};

CellOnNode find_on_node(CellId cell, Projection const& cells, std::int64_t gpus_per_node, std::int64_t ranks) {
  auto const rank = static_cast<std::int64_t>(cells.representative(cell).index());
  auto found = CellOnNode{rank / gpus_per_node, rank % gpus_per_node, {}};
  auto const first = found.node * gpus_per_node;
  for (auto other = first; other < std::min(ranks, first + gpus_per_node); ++other)
    if (cells.cell_of(RankId{static_cast<std::size_t>(other)}) == cell) found.gpus.push_back(other - first);
  return found;
}

using Links = std::vector<ResourceId>;

/// The hops of the representative's links, each as often as ranks of the cell cross it. `links_of` tells a GPU's.
template <class LinksOf>
std::vector<HostPaths::Hop> hops(CellOnNode const& at, LinksOf const& links_of) {
  auto found = std::vector<HostPaths::Hop>{};
  for (auto const link : links_of(at.gpu)) {
    if (std::ranges::find(found, link, &HostPaths::Hop::resource) != found.end()) continue;
    auto crossings = std::int64_t{0};
    for (auto const gpu : at.gpus) crossings += std::ranges::count(links_of(gpu), link);
    found.push_back({link, static_cast<double>(crossings)});
  }
  return found;
}

}  // namespace

HostPaths::HostPaths(StepProgram const& program, Projection const& cells, Machine const& machine) {
  if (std::ranges::none_of(program.roles, uses_host)) return;
  auto const& topology = machine.topology();
  for (std::size_t c = 0; c < cells.size(); ++c) {
    auto const at = find_on_node(CellId{c}, cells, topology.gpus_per_node(), program.grids.world_size());
    auto const here = [&](topology::Route route) {
      auto const links = topology.under(route, topology.condition_of(at.node));
      return Links{links.begin(), links.end()};
    };
    auto& paths = paths_.emplace_back();
    paths.to_device = hops(at, [&](std::int64_t gpu) { return here(topology.host_to_device(gpu)); });
    paths.to_host = hops(at, [&](std::int64_t gpu) { return here(topology.device_to_host(gpu)); });
    paths.memory = hops(at, [&](std::int64_t gpu) { return Links{topology.host_memory(gpu)}; }).front();
    if (!topology.has_drives()) continue;
    paths.to_drives = hops(at, [&](std::int64_t gpu) {
      return Links{topology.host_memory(gpu), topology.drives_write(gpu)};
    });
    paths.from_drives = hops(at, [&](std::int64_t gpu) {
      return Links{topology.drives_read(gpu), topology.host_memory(gpu)};
    });
  }
}

std::span<HostPaths::Hop const> HostPaths::of(CopyDirection direction, CellId cell) const {
  auto const& paths = paths_[cell.index()];
  switch (direction) {
    case CopyDirection::kHostToDevice: return paths.to_device;
    case CopyDirection::kDeviceToHost: return paths.to_host;
    case CopyDirection::kHostToNvme: return paths.to_drives;
    case CopyDirection::kNvmeToHost: return paths.from_drives;
    case CopyDirection::kDeviceToDevice: break;
  }
  TWINSTEP_UNREACHABLE("a copy inside a device uses its memory alone");
}

std::vector<ResourceId> HostPaths::resources() const {
  auto found = std::vector<ResourceId>{};
  for (auto const& paths : paths_) {
    found.push_back(paths.memory.resource);
    for (auto const* part : {&paths.to_device, &paths.to_host, &paths.to_drives, &paths.from_drives})
      for (auto const& hop : *part) found.push_back(hop.resource);
  }
  return found;
}

}  // namespace twinstep::engine
