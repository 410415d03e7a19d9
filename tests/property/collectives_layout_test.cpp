#include "sim/collectives/layout.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using collectives::NodeRun;
using program::AxisSet;
using program::Grid;

namespace {

/// The runs of a group by looking at every rank of it.
std::vector<NodeRun> counted_runs(Grid const& grid, AxisSet axes, RankId rank, std::int64_t gpus) {
  auto held = std::vector<std::int64_t>(static_cast<std::size_t>(grid.world_size() / gpus + 1));
  for (auto place = std::int64_t{0}; place < grid.size(axes); ++place)
    ++held[grid.rank_in_group(rank, axes, place).index() / static_cast<std::size_t>(gpus)];
  auto runs = std::vector<NodeRun>{};
  for (auto const ranks : held) {
    if (ranks == 0) continue;
    if (!runs.empty() && runs.back().ranks_per_node == ranks)
      ++runs.back().nodes;
    else
      runs.push_back({1, ranks});
  }
  return runs;
}

}  // namespace

TEST_CASE("a layout from strides is the layout by counting, on every grid and every rank", "[layout][property]") {
  for (auto const outer : {1, 2, 3, 4})
    for (auto const middle : {1, 2, 5, 8})
      for (auto const inner : {1, 2, 3, 4, 8})
        for (auto const gpus : {1, 4, 8}) {
          auto const grid = Grid{{{"replicate", outer}, {"shard", middle}, {"tensor", inner}}};
          for (auto const axes : {grid.along({"replicate"}), grid.along({"shard"}), grid.along({"tensor"}),
                                  grid.along({"replicate", "shard"}), grid.along({"shard", "tensor"}),
                                  grid.along({"replicate", "tensor"}), grid.along({"replicate", "shard", "tensor"})})
            for (auto rank = std::int64_t{0}; rank < grid.world_size(); rank += 3) {
              auto const id = RankId{static_cast<std::size_t>(rank)};
              auto const layout = collectives::layout_of(grid, axes, id, gpus);
              INFO(outer << " x " << middle << " x " << inner << " on nodes of " << gpus << ", rank " << rank);
              CHECK(layout.runs == counted_runs(grid, axes, id, gpus));
              CHECK(layout.ranks == grid.size(axes));
              auto const first = static_cast<std::int64_t>(grid.rank_in_group(id, axes, 0).index());
              CHECK(layout.first_node == first / gpus);
              CHECK(layout.first_gpu == first % gpus);
            }
        }
}
