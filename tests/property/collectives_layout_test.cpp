#include "sim/collectives/layout.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using collectives::NodeRun;
using program::Axis;
using program::AxisSet;
using program::Mesh;

namespace {

/// The runs of a group by looking at every rank of it.
std::vector<NodeRun> counted_runs(Mesh const& mesh, AxisSet axes, RankId rank, std::int64_t gpus) {
  auto held = std::vector<std::int64_t>(static_cast<std::size_t>(mesh.world_size() / gpus + 1));
  for (auto place = std::int64_t{0}; place < mesh.size(axes); ++place)
    ++held[mesh.rank_in_group(rank, axes, place).index() / static_cast<std::size_t>(gpus)];
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

TEST_CASE("a layout from strides is the layout by counting, on every mesh and every rank", "[layout][property]") {
  for (auto const outer : {1, 2, 3, 4})
    for (auto const middle : {1, 2, 5, 8})
      for (auto const inner : {1, 2, 3, 4, 8})
        for (auto const gpus : {1, 4, 8}) {
          auto const mesh = Mesh{{{Axis::kReplicate, outer}, {Axis::kShard, middle}, {Axis::kTensor, inner}}};
          for (auto const axes :
               {AxisSet{Axis::kReplicate}, AxisSet{Axis::kShard}, AxisSet{Axis::kTensor},
                AxisSet{Axis::kReplicate, Axis::kShard}, AxisSet{Axis::kShard, Axis::kTensor},
                AxisSet{Axis::kReplicate, Axis::kTensor}, AxisSet{Axis::kReplicate, Axis::kShard, Axis::kTensor}})
            for (auto rank = std::int64_t{0}; rank < mesh.world_size(); rank += 3) {
              auto const id = RankId{static_cast<std::size_t>(rank)};
              auto const layout = collectives::layout_of(mesh, axes, id, gpus);
              INFO(outer << " x " << middle << " x " << inner << " on nodes of " << gpus << ", rank " << rank);
              CHECK(layout.runs == counted_runs(mesh, axes, id, gpus));
              CHECK(layout.ranks == mesh.size(axes));
              auto const first = static_cast<std::int64_t>(mesh.rank_in_group(id, axes, 0).index());
              CHECK(layout.first_node == first / gpus);
              CHECK(layout.first_gpu == first % gpus);
            }
        }
}
