#include "explore/plan/way_out_of_node.hpp"
#include "explore/plan/what_if.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plan_question.hpp"

using namespace twinstep;
using namespace twinstep::explore;
using namespace twinstep::explore::plan;

using Changes = std::vector<std::string>;

TEST_CASE("commas part the changes of a question, but not in quotes, braces and brackets", "[plan][what-if]") {
  auto const read = [](std::string const& text) { return io::texts_of(plan::read_changes(text)); };
  CHECK(read("a.b=1") == Changes{"a.b=1"});
  CHECK(read("a=800 Gb/s, b.c=2,d=x") == Changes{"a=800 Gb/s", "b.c=2", "d=x"});
  CHECK(read(R"(model={"layers": 8, "heads": [1, 2]},b=2)") ==
        Changes{R"(model={"layers": 8, "heads": [1, 2]})", "b=2"});
  CHECK(read(R"(a="one, b=2",c=3)") == Changes{R"(a="one, b=2")", "c=3"});
  CHECK(read(R"(a="a \"quoted\", text",c=3)") == Changes{R"(a="a \"quoted\", text")", "c=3"});
}

TEST_CASE("a change without a value names the part that lacks it, and how to write a comma", "[plan][what-if]") {
  CHECK_THROWS_WITH(plan::read_changes("a=one, two"), Catch::Contains("--what-if a=one, two: ") &&
                                                          Catch::Contains("\"two\"") &&
                                                          Catch::Contains("double quotes"));
  CHECK_THROWS_WITH(plan::read_changes(""), Catch::Contains("path=value"));
  CHECK_THROWS_WITH(plan::read_changes("a=1,"), Catch::Contains("path=value"));
}

TEST_CASE("changes of the same are refused, since one of them would be lost", "[plan][what-if]") {
  CHECK_THROWS_WITH(plan::read_changes("a.b=1,a.b=2"), Catch::Contains("give each path once"));
  CHECK_THROWS_WITH(plan::read_changes("a.b=1,a={}"), Catch::Contains("\"a\" and \"a.b\""));
  CHECK(plan::read_changes("a.b=1,a.bc=2").size() == 2);
}

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
  auto options = PlanOptions{};
  auto const asked = tests::question_about("llama-2-7b-4xh100.json", {tests::kEightLayers});
  options.strategies = {"ddp"};
  auto unchanged = plan::ClusterSearch{options, asked, std::nullopt, {}};
  auto const best = unchanged.plans_on(16, {.plans = 1, .most_simulations = 8}).front();
  CHECK(unchanged.same_plan(best)->step_time == best.step_time);
  auto const on_slow = asked.with("cluster.fabric.port", io::value_node("40 Gb/s"));
  auto slower = plan::ClusterSearch{options, on_slow, std::nullopt, {}};
  auto const same = slower.same_plan(best);
  REQUIRE(same);
  CHECK(same->step_time > best.step_time);
  CHECK(same->settings.back() == best.settings.back());
  auto const on_small = on_slow.with("cluster.gpu.memory_capacity", io::value_node("4 GB"));
  auto smaller = plan::ClusterSearch{options, on_small, std::nullopt, {}};
  CHECK_FALSE(smaller.same_plan(best));
}
