#include "sim/collectives/layout.hpp"

#include "tests/support/catch.hpp"

using namespace twinstep;
using collectives::layout_of;
using collectives::NodeRun;
using program::AxisId;
using program::Grid;
using Runs = std::vector<NodeRun>;

TEST_CASE("a whole job on full nodes is one run", "[layout]") {
  auto const layout = layout_of(Grid{{{"data", 131'072}}}, {AxisId{0}}, RankId{77}, 8);
  CHECK(layout.ranks == 131'072);
  CHECK(layout.runs == Runs{{16'384, 8}});
  CHECK(layout.nodes() == 16'384);
  CHECK(layout.first_node == 0);
  CHECK(layout.first_gpu == 0);
  CHECK(layout.groups_per_node == 1);
}

TEST_CASE("a job smaller than a node holds part of it", "[layout]") {
  auto const layout = layout_of(Grid{{{"shard", 3}}}, {AxisId{0}}, RankId{2}, 8);
  CHECK(layout.runs == Runs{{1, 3}});
  CHECK(layout.groups_per_node == 1);
}

TEST_CASE("the last node of a job may be partly filled", "[layout]") {
  auto const layout = layout_of(Grid{{{"shard", 20}}}, {AxisId{0}}, RankId{0}, 8);
  CHECK(layout.runs == Runs{{2, 8}, {1, 4}});
  CHECK(layout.nodes() == 3);
  CHECK(layout.most_ranks_per_node() == 8);
}

TEST_CASE("tensor-parallel groups lie side by side in a node", "[layout]") {
  auto const grid = Grid{{{"data", 4}, {"tensor", 4}}};
  auto const layout = layout_of(grid, grid.along({"tensor"}), RankId{13}, 8);
  CHECK(layout.runs == Runs{{1, 4}});
  CHECK(layout.first_node == 1);
  CHECK(layout.first_gpu == 4);
  CHECK(layout.gpu_stride == 1);
  CHECK(layout.groups_per_node == 2);
}

TEST_CASE("data-parallel groups around tensor parallelism are strided in every node", "[layout]") {
  // Ranks 1, 5 | 9, 13: two on each node, four apart.
  auto const grid = Grid{{{"data", 4}, {"tensor", 4}}};
  auto const layout = layout_of(grid, grid.along({"data"}), RankId{13}, 8);
  CHECK(layout.runs == Runs{{2, 2}});
  CHECK(layout.first_gpu == 1);
  CHECK(layout.gpu_stride == 4);
  CHECK(layout.node_stride == 1);
  CHECK(layout.groups_per_node == 4);
}

TEST_CASE("replicas of a shard group that fills a node have one rank a node each", "[layout]") {
  auto const grid = Grid{{{"replicate", 4}, {"shard", 8}}};
  auto const layout = layout_of(grid, grid.along({"replicate"}), RankId{11}, 8);
  CHECK(layout.runs == Runs{{4, 1}});
  CHECK(layout.first_gpu == 3);
  CHECK(layout.groups_per_node == 8);
}

TEST_CASE("a group may skip nodes", "[layout]") {
  // Ranks 9, 25, 41, 57 on nodes 1, 3, 5, 7.
  auto const grid = Grid{{{"replicate", 4}, {"shard", 16}}};
  auto const layout = layout_of(grid, grid.along({"replicate"}), RankId{25}, 8);
  CHECK(layout.runs == Runs{{4, 1}});
  CHECK(layout.first_node == 1);
  CHECK(layout.node_stride == 2);
  CHECK(layout.first_gpu == 1);
}

TEST_CASE("neighbouring axes form one group", "[layout]") {
  auto const grid = Grid{{{"replicate", 4}, {"shard", 8}}};
  auto const layout = layout_of(grid, grid.along({"replicate", "shard"}), RankId{31}, 8);
  CHECK(layout.runs == Runs{{4, 8}});
  CHECK(layout.groups_per_node == 1);
}

TEST_CASE("a group with a hole repeats on its nodes", "[layout]") {
  // Along pipeline (32 apart) and tensor: ranks 0, 1 on node 0 and 32, 33 on node 4.
  auto const grid = Grid{{{"pipeline", 2}, {"data", 16}, {"tensor", 2}}};
  auto const layout = layout_of(grid, grid.along({"pipeline", "tensor"}), RankId{0}, 8);
  CHECK(layout.runs == Runs{{2, 2}});
  CHECK(layout.node_stride == 4);
  CHECK(layout.groups_per_node == 4);
}

TEST_CASE("a group that straddles two nodes is split where the node ends", "[layout]") {
  // Ranks 6 … 11.
  auto const grid = Grid{{{"data", 6}, {"tensor", 6}}};
  auto const layout = layout_of(grid, grid.along({"tensor"}), RankId{8}, 8);
  CHECK(layout.runs == Runs{{1, 2}, {1, 4}});
  CHECK(layout.first_gpu == 6);
}

TEST_CASE("strides that do not fit the node are laid out rank by rank", "[layout]") {
  // Ranks 0, 6 | 12 | 18 | 24, 30 on nodes of 8.
  auto const grid = Grid{{{"data", 6}, {"tensor", 6}}};
  auto const layout = layout_of(grid, grid.along({"data"}), RankId{6}, 8);
  CHECK(layout.runs == Runs{{1, 2}, {2, 1}, {1, 2}});
  CHECK(layout.gpu_stride == 6);
}
