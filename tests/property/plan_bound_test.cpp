#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "explore/ask/ask.hpp"
#include "explore/plan/candidates.hpp"
#include "sim/io/document_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plan_question.hpp"

using namespace twinstep;
using namespace twinstep::explore;

namespace {

/// As many cases as TWINSTEP_CASES says.
std::size_t cases() {
  auto const* const asked = std::getenv("TWINSTEP_CASES");
  return asked != nullptr ? std::stoul(asked) : 300;
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : generator_{seed} {}
  std::size_t below(std::size_t count) { return generator_() % count; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return std::data(values)[below(values.size())];
  }

 private:
  std::mt19937 generator_;
};

/// A small model on some nodes of some machine.
plan::Setup setup(Random& random) {
  auto const heads = random.of({2, 4, 8});
  auto const nodes = random.of({1, 2, 3});
  auto settings = std::vector<std::string>{
      fmt::format(R"(model={{"family": "{}", "layers": {}, "hidden": {}, "heads": {}, "ffn": {}, "vocabulary": {}}})",
                  random.of({"llama", "gpt2"}), 1 + random.below(7), heads * random.of({32, 64, 128}), heads,
                  random.of({384, 1000, 4096}), random.of({1000, 32000})),
      fmt::format("cluster.nodes={}", nodes),
      fmt::format("cluster.node.nic={} Gb/s", random.of({10, 100, 400})),
      fmt::format("training.sequence_length={}", random.of({32, 512, 1024})),
      fmt::format("training.global_batch={}", 8 * nodes * random.of({1, 2, 4, 6, 36})),
  };
  if (random.below(3) == 0) settings.emplace_back("training.precision=fp32");
  if (random.below(3) == 0) settings.emplace_back("training.optimizer=adamw-foreach");
  auto asked = tests::plan_question("llama-2-7b-4xh100.json", settings);
  for (std::size_t i = 0; i < kEnumSize<strategies::StrategyName>; ++i)
    asked.strategies.push_back(static_cast<strategies::StrategyName>(i));
  return asked;
}

std::string name(plan::Candidate const& candidate) {
  return fmt::format("{} × {} of {}", io::document_line(plan::strategy_node(candidate.plan)),
                     candidate.plan.batch.micro_batch, candidate.plan.batch.global_batch);
}

}  // namespace

TEST_CASE("no step is faster or holds less than its bound", "[plan]") {
  constexpr auto kOfSetup = std::size_t{30};
  auto random = Random{20261201};
  auto done = std::size_t{0};
  while (done < cases()) {
    auto const asked = setup(random);
    auto const space = plan::bound_all(asked);
    auto candidates = space.candidates;
    candidates.insert(candidates.end(), space.too_large.begin(), space.too_large.end());
    REQUIRE(!candidates.empty());
    for (std::size_t i = 0; i < kOfSetup; ++i, ++done) {
      auto const& candidate = candidates[random.below(candidates.size())];
      auto scenario = asked.scenario;
      scenario.plan = candidate.plan;
      auto const bound = plan::sharpened(asked.scenario, candidate);
      auto const outcome = run_variation(scenario);
      auto const& summary = std::get<Run>(outcome).summary;
      auto const holds = bound.step_time <= summary.step_time && bound.device <= summary.peak.total() &&
                         bound.host <= summary.host_peak && bound.nvme <= summary.nvme_peak;
      if (holds) continue;
      FAIL_CHECK(name(candidate) << ": bound " << bound.step_time.count() << " ps, " << bound.device.count() << " B, "
                                 << bound.host.count() << " B; simulated " << summary.step_time.count() << " ps, "
                                 << summary.peak.total().count() << " B, " << summary.host_peak.count() << " B; work "
                                 << candidate.bound.step_time.count() << " ps, " << candidate.bound.device.count()
                                 << " B; " << asked.scenario.title());
    }
  }
  CHECK(done >= cases());
}

TEST_CASE("bounds are most of what is simulated", "[plan]") {
  // In the middle of a space of LLaMA's layers: what is not bounded is contention.
  auto const asked = tests::plan_question("llama-2-7b-4xh100.json", {tests::kEightLayers, "training.global_batch=64"});
  auto const space = plan::bound_all(asked);
  auto times = std::vector<double>{};
  auto memory = std::vector<double>{};
  for (std::size_t i = 0; i < space.candidates.size(); i += 10) {
    auto scenario = asked.scenario;
    scenario.plan = space.candidates[i].plan;
    auto const bound = plan::sharpened(asked.scenario, space.candidates[i]);
    auto const outcome = run_variation(scenario);
    auto const& summary = std::get<Run>(outcome).summary;
    times.push_back(to_seconds(bound.step_time).count() / to_seconds(summary.step_time).count());
    memory.push_back(static_cast<double>(bound.device.count()) / static_cast<double>(summary.peak.total().count()));
  }
  for (auto* const shares : {&times, &memory}) {
    std::ranges::sort(*shares);
    CHECK((*shares)[shares->size() / 2] > 0.9);
  }
}

namespace {

/// What bounds a plan of one sequence at a time before its program is compiled, and what its step comes to.
std::pair<plan::Bound, reports::Summary> bounded_and_simulated(std::vector<std::string> const& settings,
                                                               strategies::StrategyName strategy,
                                                               plan::WorkChoice const& work) {
  auto asked = tests::plan_question("llama-2-7b-4xh100.json", settings);
  asked.strategies = {strategy};
  auto const space = plan::bound_all(asked);
  auto const found = std::ranges::find_if(space.candidates, [&](plan::Candidate const& each) {
    return each.plan == plan::with_choice(each.plan, work) && each.plan.parallel.shard_group == 0;
  });
  REQUIRE(found != space.candidates.end());
  return {found->bound, plan::simulate(asked.scenario, *found)->summary};
}

}  // namespace

TEST_CASE("a slow network bounds a step by what crosses it", "[plan]") {
  // 8 x (4 x 4096^2 + 3 x 4096 x 11008) + 2 x 32000 x 4096 = 1.88e9 parameters, whose gradients ddp reduces in fp32:
  // 7.5 GB. Each of two nodes sends as much to the other, by eight NICs of 1.25 GB/s: 0.75 s.
  auto const [bound, summary] = bounded_and_simulated(
      {tests::kEightLayers, "cluster.nodes=2", "cluster.node.nic=10 Gb/s", "training.global_batch=16"},
      strategies::StrategyName::kDdp, {});
  CHECK(to_seconds(bound.step_time).count() > 0.75);
  CHECK(bound.step_time <= summary.step_time);
}

TEST_CASE("offloaded activations bound a step by their way to the host", "[plan]") {
  // Recomputed blocks keep their input, 4096 x 4096 numbers of 2 bytes: eight are 268 MB, which take 134 ms at 2 GB/s.
  auto const [bound, summary] = bounded_and_simulated(
      {tests::kEightLayers, "cluster.nodes=1", "cluster.node.pcie=16 Gb/s", "training.global_batch=8",
       "training.sequence_length=4096"},
      strategies::StrategyName::kFsdp2, {.recompute = strategies::Recompute::kFull, .offloads_activations = true});
  CHECK(to_seconds(bound.step_time).count() > 0.134);
  CHECK(bound.step_time <= summary.step_time);
}
