#include "sim/cost/kernel_cost.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;

namespace {

hardware::Cluster nodes_of_eight(std::int64_t nodes, double spread) {
  auto cluster = hardware::Cluster{};
  cluster.nodes() = nodes;
  cluster.node().gpus = 8;
  cluster.stack.rank_spread.value = spread;
  return cluster;
}

/// Where every GPU has a rank.
double wait_of_all(std::int64_t nodes, double spread) {
  auto const cluster = nodes_of_eight(nodes, spread);
  return cost::wait_for_latest(cluster, cluster.gpus());
}

}  // namespace

TEST_CASE("the latest of many ranks is as far behind as the extreme of as many normal numbers", "[cost]") {
  // Expected extremes of 2, 8, 128 normal numbers: 0.564, 1.424, 2.585 (Harter, Biometrika 48, 1961).
  CHECK(cost::expected_latest(1) == 0);
  CHECK(cost::expected_latest(2) == Approx(0.564).epsilon(0.05));
  CHECK(cost::expected_latest(8) == Approx(1.424).epsilon(0.01));
  CHECK(cost::expected_latest(128) == Approx(2.585).epsilon(0.01));
}

TEST_CASE("a job of many nodes waits for the latest GPU of all, beyond the latest of one node", "[cost]") {
  // 16 nodes: 0.01 · (2.59 - 1.43); a thousand times as many GPUs add less than their first doublings did.
  CHECK(wait_of_all(1, 0.01) == 1);
  CHECK(wait_of_all(16, 0.01) == Approx(1.0116).epsilon(1e-4));
  CHECK(wait_of_all(2048, 0.01) < 1.03);
  CHECK(wait_of_all(2048, 0) == 1);
}

TEST_CASE("GPUs without a rank are waited for by nobody", "[cost]") {
  auto const cluster = nodes_of_eight(16, 0.01);
  CHECK(cost::wait_for_latest(cluster, 1) == 1);
  CHECK(cost::wait_for_latest(cluster, 8) == 1);
  CHECK(cost::wait_for_latest(cluster, 16) == wait_of_all(2, 0.01));
}
