#include "sim/collectives/layout.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace twinstep::collectives {
namespace {

using program::AxisSet;
using program::Grid;

/// Ranks first, first + stride, …, `count` of them.
struct Progression {
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

/// The group as nested progressions, outermost first, with as few of them as possible: neighbouring axes of the grid
/// continue each other and merge into one.
std::vector<Progression> progressions_of(Grid const& grid, AxisSet axes) {
  auto nested = std::vector<Progression>{};
  for (std::size_t i = 0; i < grid.axes().size(); ++i) {
    auto const axis = program::AxisId{i};
    auto const size = grid.size(axis);
    if (!axes.contains(axis) || size == 1) continue;
    auto const stride = grid.stride(axis);
    if (!nested.empty() && nested.back().stride == size * stride)
      nested.back() = {nested.back().count * size, stride};
    else
      nested.push_back({size, stride});
  }
  return nested;
}

/// A group that lies in one node.
Layout inside_one_node(std::int64_t first, std::vector<Progression> const& nested, std::int64_t gpus) {
  auto layout = Layout{};
  for (auto const& level : nested) layout.ranks *= level.count;
  layout.runs = {{1, layout.ranks}};
  layout.first_node = first / gpus;
  layout.first_gpu = first % gpus;
  layout.gpu_stride = nested.empty() ? 1 : nested.back().stride;
  return layout;
}

/// One progression whose stride divides the node: the first and the last node may hold fewer ranks.
Layout across_nodes(std::int64_t first, Progression ranks, std::int64_t gpus) {
  auto layout = Layout{ranks.count, {}, first / gpus, 1, first % gpus, ranks.stride, 1};
  auto const full = gpus / ranks.stride;
  auto left = ranks.count;
  auto const add_run = [&](std::int64_t nodes, std::int64_t each) {
    if (nodes == 0 || each == 0) return;
    left -= nodes * each;
    if (!layout.runs.empty() && layout.runs.back().ranks_per_node == each)
      layout.runs.back().nodes += nodes;
    else
      layout.runs.push_back({nodes, each});
  };
  add_run(1, std::min(left, divide_up(gpus - first % gpus, ranks.stride)));
  add_run(left / full, full);
  add_run(1, left);
  return layout;
}

/// Ranks that repeat at the same places of every `outer.stride / gpus`-th node. `inner` lies in one node.
Layout same_on_nodes(std::int64_t first, Progression outer, std::vector<Progression> const& inner, std::int64_t gpus) {
  auto layout = inside_one_node(first, inner, gpus);
  layout.runs = {{outer.count, layout.ranks}};
  layout.ranks *= outer.count;
  layout.node_stride = outer.stride / gpus;
  return layout;
}

/// Whether the ranks of `nested`, counted from place `first_gpu` of a node, all lie in that node.
bool fits_in_node(std::int64_t first_gpu, std::vector<Progression> const& nested, std::int64_t gpus) {
  auto last = first_gpu;
  for (auto const& level : nested) last += (level.count - 1) * level.stride;
  return last < gpus;
}

/// The layout from strides alone, where they fit the node.
std::optional<Layout> regular_layout(std::int64_t first, std::vector<Progression> const& nested, std::int64_t gpus) {
  if (fits_in_node(first % gpus, nested, gpus)) return inside_one_node(first, nested, gpus);
  auto const& outer = nested.front();
  auto const inner = std::vector<Progression>(nested.begin() + 1, nested.end());
  if (outer.stride % gpus == 0 && fits_in_node(first % gpus, inner, gpus))
    return same_on_nodes(first, outer, inner, gpus);
  if (inner.empty() && outer.stride < gpus && gpus % outer.stride == 0) return across_nodes(first, outer, gpus);
  return std::nullopt;
}

/// The layout by looking at every rank of the group. Only for strides that do not fit the node (a grid of 6 × 4 ranks
/// on nodes of 8, say); `node_stride` and `gpu_stride` are then those of the first two. Cost O(ranks of the group).
Layout enumerated_layout(Grid const& grid, AxisSet axes, RankId rank, std::int64_t gpus) {
  auto layout = Layout{grid.size(axes), {}, 0, 1, 0, 1, 1};
  auto node = std::int64_t{-1};
  auto previous = std::int64_t{0};
  auto const close_node = [&](std::int64_t held) {
    if (node < 0) return;
    if (!layout.runs.empty() && layout.runs.back().ranks_per_node == held)
      ++layout.runs.back().nodes;
    else
      layout.runs.push_back({1, held});
  };
  auto held = std::int64_t{0};
  for (auto place = std::int64_t{0}; place < layout.ranks; ++place) {
    auto const member = static_cast<std::int64_t>(grid.rank_in_group(rank, axes, place).index());
    if (place == 0) {
      layout.first_node = member / gpus;
      layout.first_gpu = member % gpus;
    }
    if (member / gpus == node) {
      if (layout.runs.empty() && held == 1) layout.gpu_stride = member - previous;
      ++held;
    } else {
      if (layout.runs.empty() && node >= 0) layout.node_stride = member / gpus - node;
      close_node(held);
      node = member / gpus;
      held = 1;
    }
    previous = member;
  }
  close_node(held);
  return layout;
}

}  // namespace

std::int64_t Layout::nodes() const {
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                         [](std::int64_t sum, NodeRun const& run) { return sum + run.nodes; });
}

std::int64_t Layout::most_ranks_per_node() const {
  auto most = std::int64_t{1};
  for (auto const& run : runs) most = std::max(most, run.ranks_per_node);
  return most;
}

Layout layout_of(Grid const& grid, program::AxisSet axes, RankId rank, std::int64_t gpus_per_node) {
  TWINSTEP_CHECK(gpus_per_node >= 1, "a node has a GPU");
  auto const nested = progressions_of(grid, axes);
  auto const first = static_cast<std::int64_t>(grid.rank_in_group(rank, axes, 0).index());
  auto layout = regular_layout(first, nested, gpus_per_node).value_or(Layout{});
  if (layout.runs.empty()) layout = enumerated_layout(grid, axes, rank, gpus_per_node);
  auto const ranks_on_node = std::min(gpus_per_node, grid.world_size());
  layout.groups_per_node = std::max<std::int64_t>(1, ranks_on_node / layout.most_ranks_per_node());
  return layout;
}

Layout layout_of(std::int64_t ranks, std::int64_t gpus_per_node) {
  return layout_of(Grid{{{"all", ranks}}}, {program::AxisId{0}}, RankId{0}, gpus_per_node);
}

}  // namespace twinstep::collectives
