#include <algorithm>
#include <oneapi/tbb/global_control.h>

#include "explore/ask/ask.hpp"
#include "explore/plan/gpu_counts.hpp"
#include "explore/plan/planner.hpp"
#include "explore/plan/search.hpp"
#include "sim/io/document_text.hpp"
#include "strategies/plan/read_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plan_question.hpp"

using namespace twinstep;
using namespace twinstep::explore;
using namespace twinstep::explore::plan;

namespace {

hardware::Cluster const& four_nodes_of_eight() {
  static auto const cluster = *tests::plan_question("llama-2-7b-4xh100.json", {}).scenario.cluster;
  return cluster;
}

std::string reason(std::int64_t gpus, std::int64_t global_batch) {
  auto const counts = plan::GpuCounts{four_nodes_of_eight(), global_batch}.asked({{gpus, gpus}});
  REQUIRE(counts.searched.empty());
  REQUIRE(counts.refused.size() == 1);
  return counts.refused.front().reason;
}

}  // namespace

TEST_CASE("a number of GPUs that the batch cannot be divided among names its neighbours and another batch", "[plan]") {
  // 512 / 96 = 5.33: 64 and 128 divide it, and of 480 = 5 x 96 and 576 = 6 x 96 the first is nearer to 512.
  CHECK(reason(96, 512) ==
        "a global batch of 512 cannot be divided; nearest that can: 64 and 128; --set training.global_batch=480 "
        "can");
  CHECK_THAT(reason(12, 512), Catch::Contains("not whole nodes of 8 GPUs; nearest that can: 8 and 16"));
  CHECK_THAT(reason(1'000'000, 512), Catch::Contains("at most; nearest that can: 512"));
}

TEST_CASE("numbers of GPUs that are named twice count once, and ranges leave out what does not divide", "[plan]") {
  auto const counts = plan::GpuCounts{four_nodes_of_eight(), 64};
  CHECK(counts.asked({{8, 64}, {16, 16}}).searched == std::vector<std::int64_t>{8, 16, 32, 64});
  CHECK(counts.asked({{8, 64}}).refused.empty());
  CHECK(counts.asked({{24, 24}, {24, 24}}).refused.size() == 1);
}

TEST_CASE("between numbers of GPUs that divide the batch the one with the nearest other batch is proposed", "[plan]") {
  auto const others = [](std::vector<plan::GpuRange> const& ranges) {
    auto found = std::vector<std::pair<std::int64_t, std::int64_t>>{};
    for (auto const& [gpus, batch] : plan::GpuCounts{four_nodes_of_eight(), 64}.asked(ranges).others)
      found.emplace_back(gpus, batch);
    return found;
  };
  using Found = std::vector<std::pair<std::int64_t, std::int64_t>>;
  // 64 on 24 GPUs: 48 or 72, nearer is 72. Of 40 (80), 48 (48) and 56 (56) the last has the nearest batch.
  CHECK(others({{8, 64}}) == Found{{24, 72}, {56, 56}});
  // Behind 64, the last that divides it, 128 were asked for.
  CHECK(others({{64, 128}}) == Found{{128, 128}});
  CHECK(others({{64, 64}, {24, 24}}).empty());
  // A range that holds none: of 24 (72) and, behind it, none that is not 32.
  CHECK(plan::GpuCounts{four_nodes_of_eight(), 64}.asked({{17, 31}}).refused.front().gpus == 24);
}

TEST_CASE("plans that run alike are found once", "[plan]") {
  // Two sequences a GPU: with both in one micro-batch, ways to accumulate make no difference.
  auto asked = tests::plan_question("llama-2-7b-4xh100.json", {tests::kEightLayers, "training.global_batch=64"});
  asked.strategies = {strategies::StrategyName::kFsdp2};
  auto const plans = plan::simulate_best(asked.scenario, plan::bound_all(asked), 8).plans;
  REQUIRE(plans.size() == 8);
  for (std::size_t i = 0; i < plans.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      INFO(io::document_line(strategy_node(plans[i].candidate.plan)));
      INFO(io::document_line(strategy_node(plans[j].candidate.plan)));
      CHECK_FALSE((plans[i].summary.step_time == plans[j].summary.step_time &&
                   plans[i].summary.reserved_peak.total() == plans[j].summary.reserved_peak.total()));
    }
}

TEST_CASE("states go to drives where nodes have them, and nowhere else", "[plan]") {
  auto const is_on_drives = [](strategies::Plan const& choice) {
    return choice.states.offload.optimizer == strategies::OffloadPlace::kNvme;
  };
  auto const with = plan::strategy_choices({.ranks = 8, .gpus_per_node = 8, .has_drives = true});
  auto const without = plan::strategy_choices({.ranks = 8, .gpus_per_node = 8});
  CHECK(std::ranges::count_if(with, is_on_drives) == 3);
  CHECK(std::ranges::none_of(without, is_on_drives));
}

TEST_CASE("what a scenario says of a chosen plan is the plan when it is read", "[plan]") {
  auto const asked = tests::plan_question("llama-2-7b-4xh100.json", {tests::kEightLayers, "training.global_batch=64"});
  auto const& [scenario, training, searched] = asked;
  auto const space = plan::bound_all(asked);
  REQUIRE(space.candidates.size() > 100);
  for (auto const* const candidates : {&space.candidates, &space.too_large})
    for (auto const& [plan, bound] : *candidates) {
      auto const written = strategy_node(plan);
      INFO(io::document_line(written));
      auto read = strategies::read_plan(training, written, scenario.model, scenario.cluster->gpus());
      read.batch.micro_batch = plan.batch.micro_batch;  // which is not the strategy's
      CHECK(read == plan);
    }
}

TEST_CASE("the front is that of everything that fits, searched or not", "[plan]") {
  // Two numbers of GPUs; the front of each one's fastest must be the front of all that fit.
  auto all = std::vector<reports::PlannedStep>{};
  for (auto const* const nodes : {"cluster.nodes=1", "cluster.nodes=2"}) {
    auto asked = tests::plan_question("llama-2-7b-4xh100.json", {tests::kEightLayers, nodes});
    asked.strategies = {strategies::StrategyName::kZero3};
    auto const space = plan::bound_all(asked);
    for (auto const& each : plan::simulate_best(asked.scenario, space, 1000).plans)
      all.push_back({.gpus = asked.scenario.cluster->gpus(), .step_time = each.summary.step_time});
  }
  auto const whole = reports::pareto_front(all);
  auto const question = PlanQuestion{.scenario = tests::question_about("llama-2-7b-4xh100.json", {tests::kEightLayers}),
                                     .strategies = {strategies::StrategyName::kZero3},
                                     .gpus = {{8, 8}, {16, 16}},
                                     .headroom = 0};
  auto const found = plan::make_plans(question, [] {}).pareto;
  REQUIRE(found.size() == whole.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].gpus == whole[i].gpus);
    CHECK(found[i].step_time == whole[i].step_time);
  }
}

TEST_CASE("the best that a search finds is the best of the space, and few of it are simulated", "[plan]") {
  auto asked = tests::plan_question("llama-2-7b-4xh100.json", {tests::kEightLayers, "training.global_batch=64"});
  asked.strategies = {strategies::StrategyName::kDdp, strategies::StrategyName::kZero3,
                      strategies::StrategyName::kMegatron};
  auto const space = plan::bound_all(asked);
  auto const few = plan::simulate_best(asked.scenario, space, 1);
  auto const all = plan::simulate_best(asked.scenario, space, space.candidates.size());
  REQUIRE(!few.plans.empty());
  CHECK(few.simulations * 10 < all.simulations);
  CHECK(few.plans.front().summary.step_time == all.plans.front().summary.step_time);
}

TEST_CASE("a search finds the same on one core as on two", "[plan]") {
  auto asked = tests::plan_question("llama-2-7b-4xh100.json", {tests::kEightLayers, "training.global_batch=64"});
  asked.strategies = {strategies::StrategyName::kDdp, strategies::StrategyName::kDeepSpeed3};
  auto const run = [&](std::size_t cores) {
    auto const limit = oneapi::tbb::global_control{oneapi::tbb::global_control::max_allowed_parallelism, cores};
    return plan::simulate_best(asked.scenario, plan::bound_all(asked), 5);
  };
  auto const [one, two] = std::pair{run(1), run(2)};
  REQUIRE(one.plans.size() == two.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    CHECK(one.plans[i].summary.step_time == two.plans[i].summary.step_time);
    CHECK(one.plans[i].candidate.plan == two.plans[i].candidate.plan);
  }
}
