#include "explore/plan/way_out_of_node.hpp"
#include "explore/plan/what_if.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plan_question.hpp"

using namespace twinstep;
using namespace twinstep::explore;
using namespace twinstep::explore::plan;

TEST_CASE("a GPU leaves its node as fast as the slowest of NIC, port and PCIe lets it", "[plan][what-if]") {
  // A NIC of 800 Gb/s = 100 GB/s in each of 8 GPUs' places, on ports of 400 Gb/s = 50 GB/s; slots of 480 Gb/s = 60
  // GB/s.
  auto const cluster =
      *tests::plan_question("llama-2-7b-4xh100.json",
                            {"cluster.node.nic=800 Gb/s", "cluster.fabric.port=400 Gb/s", "cluster.node.pcie=480 Gb/s"})
           .scenario.cluster;
  CHECK(plan::what_binds_out_of_node(cluster) ==
        "out of its node a GPU has 100.0 GB/s by cluster.node.nic, 50.0 GB/s by cluster.fabric.port, 60.0 GB/s by "
        "cluster.node.pcie: the slowest binds");
  // Four NICs for eight GPUs: half a NIC and half a port each.
  auto const shared =
      *tests::plan_question("llama-2-7b-4xh100.json", {"cluster.node.nics=4", "cluster.node.nic=400 Gb/s",
                                                       "cluster.fabric.port=200 Gb/s", "cluster.node.pcie=480 Gb/s"})
           .scenario.cluster;
  CHECK_THAT(plan::what_binds_out_of_node(shared), Catch::Contains("25.0 GB/s by cluster.node.nic, 12.5 GB/s by"));
}

TEST_CASE("the plan that was the best is tried on the changed scenario too", "[plan][what-if]") {
  auto const asked = tests::question_about("llama-2-7b-4xh100.json", {tests::kEightLayers});
  auto question = PlanQuestion{.scenario = asked, .strategies = {strategies::StrategyName::kDdp}};
  auto unchanged = plan::ClusterSearch{question, asked, std::nullopt, {}};
  auto const best = unchanged.plans_on(16, 1).front();
  CHECK(unchanged.same_plan(best)->step_time == best.step_time);
  auto const on_slow = asked.with("cluster.fabric.port", io::value_node("40 Gb/s"));
  auto slower = plan::ClusterSearch{question, on_slow, std::nullopt, {}};
  auto const same = slower.same_plan(best);
  REQUIRE(same);
  CHECK(same->step_time > best.step_time);
  CHECK(text_of(same->changes.back()) == text_of(best.changes.back()));
  auto const on_small = on_slow.with("cluster.gpu.memory_capacity", io::value_node("4 GB"));
  auto smaller = plan::ClusterSearch{question, on_small, std::nullopt, {}};
  CHECK_FALSE(smaller.same_plan(best));
}
