#include "validate/study/step_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include "explore/ask/ask.hpp"
#include "sim/base/input_error.hpp"
#include "strategies/analytic/formulas.hpp"
#include "validate/study/cnn_calibration.hpp"
#include "validate/study/step_replay.hpp"

namespace twinstep::study {
namespace {

using namespace explore;

using validate::StepAnswer;
using validate::StepQuantity;
using validate::StepRecord;

/// A step that was asked. Throws InputError for a plan that does not divide.
Run run_of(Scenario const& scenario) {
  auto outcome = run_step(scenario, {}, Checks::kNone);
  if (auto const* const obstacle = std::get_if<reports::Infeasible>(&outcome)) throw InputError{obstacle->reason};
  return std::get<Run>(std::move(outcome));
}

/// How much longer a step takes for one micro-batch more.
Seconds micro_step_time(Scenario scenario) {
  auto const time = [&](std::int64_t micro_steps) {
    auto& plan = scenario.plan;
    plan.batch.global_batch = plan.batch.micro_batch * plan.parallel.data * micro_steps;
    return simulated_time(scenario);
  };
  return time(2) - time(1);
}

/// Whether the factors of the stack, and with them the efficiencies of the GPU, were fitted to rows like this one; none
/// was to products in 8 bits.
bool has_seen(hardware::Stack const& stack, StepRecord const& record, std::int64_t nodes) {
  return std::ranges::any_of(stack.fitted_on, [&](hardware::FittedFamily const& seen) {
    return seen.family == record.family && nodes <= seen.most_nodes;
  });
}

/// The figure that a record's software prints.
Bytes memory_of(reports::Summary const& summary, Software::Memory figure) {
  using enum program::MemoryCategory;
  auto const& peak = figure == Software::Memory::kAllocated ? summary.peak : summary.reserved_peak;
  auto const of = [&](program::MemoryCategory category) { return peak.held[static_cast<std::size_t>(category)]; };
  return figure == Software::Memory::kDevice ? peak.total() : peak.total() - of(kContext) - of(kCollectiveLibrary);
}

StepAnswer simulated(StepRecord const& record, StepReplay const& replay, Scenario const& scenario) {
  auto const run = run_of(scenario);
  auto const& plan = scenario.plan;
  auto const& cluster = *scenario.cluster;
  auto const ranks = static_cast<double>(plan.parallel.world());
  auto const nodes = divide_up(plan.parallel.world(), cluster.node().gpus);
  auto answer = StepAnswer{.step_time = to_seconds(run.summary.step_time),
                           .peak_memory = memory_of(run.summary, software_of(record).memory),
                           .tokens_per_gpu = static_cast<double>(run.step.facts.tokens) / ranks,
                           .model_flops = run.step.facts.model_flops * (1 / ranks),
                           .peak = *cluster.node().gpu.peak(plan.kernels.precision),
                           .gpu = cluster.node().gpu.name,
                           .nodes = nodes,
                           .is_recomputed = plan.kernels.recompute != strategies::Recompute::kNone,
                           .is_fitted = !plan.kernels.linear_type && has_seen(cluster.stack, record, nodes),
                           .is_assumed = !replay.assumed.empty(),
                           .notes = replay.near_to};
  if (record.measures(StepQuantity::kMicroStepTime)) answer.micro_step_time = micro_step_time(scenario);
  for (auto const& each : replay.assumed) answer.notes.push_back("assumed: " + each);
  if (auto const& gpu = cluster.node().gpu; gpu.efficiency.gemm.basis == hardware::Basis::kAssumed)
    answer.notes.push_back(fmt::format("what kernels reach on {} is assumed", gpu.name));
  if (!run.summary.fits) answer.notes.emplace_back("predicted not to fit");
  return answer;
}

/// The parameters of the largest layer, which the estimator's users write behind the model's name: "largest layer 32M".
std::int64_t largest_layer(std::string const& model) {
  constexpr auto kWords = std::string_view{"largest layer "};
  auto const at = model.find(kWords);
  if (at == std::string::npos) return 0;
  return std::llround(std::strtod(model.c_str() + at + kWords.size(), nullptr) * 1e6);
}

StepAnswer estimated(StepRecord const& record) {
  auto const offloads = [&](std::string_view what) { return record.offload.find(what) != std::string::npos; };
  auto const states = strategies::analytic::EstimatedStates{.parameters = std::llround(*record.model.parameters),
                                                            .largest_layer = largest_layer(record.model.name),
                                                            .ranks = *record.parallelism.data,
                                                            .stage = record.parallelism.zero_stage.value_or(0),
                                                            .offloads_optimizer = offloads("opt"),
                                                            .offloads_parameters = offloads("param")};
  return {.model_states = deepspeed_estimate(states),
          .notes = {"counted from the parameters as DeepSpeed's estimator does"}};
}

/// Model states of a record that gives no more than a number of parameters, by the formula that its kind uses.
StepAnswer counted(StepRecord const& record) {
  using strategies::analytic::ShardedStates;
  auto const& parallelism = record.parallelism;
  if (parallelism.tensor * parallelism.pipeline > 1)
    return {.skipped = "tensor parallelism: the states of a part of a model"};
  auto const stage = parallelism.zero_stage.value_or(0);
  if (!record.model.parameters || !parallelism.data || stage > 3)
    return {.skipped = "not stated: the parameters, ranks or ZeRO stage"};
  if (record.kind == "estimator" && stage > 0) return estimated(record);
  if (!record.offload.empty() && !record.offload.starts_with("none"))
    return {.skipped = fmt::format("offload: {}", record.offload)};
  return {.model_states = strategies::analytic::model_state_memory(
              std::llround(*record.model.parameters), *parallelism.data, static_cast<ShardedStates>(stage)),
          .notes = {"counted from the parameters"}};
}

}  // namespace

Seconds simulated_time(Scenario const& scenario) {
  return to_seconds(run_of(scenario).summary.step_time);
}

StepAnswer predict_step(StepRecord const& record, std::optional<hardware::Cluster> const& named,
                        CnnCalibration const& networks) try {
  if (record.problem.empty() && record.measures(StepQuantity::kModelStateMemory)) return counted(record);
  auto const found = replay_of(record, named);
  if (auto const* reason = std::get_if<NotReplayed>(&found)) return {.skipped = reason->reason};
  if (record.measurements.empty()) return {.skipped = "not predicted: what it measured"};
  auto const& replay = std::get<StepReplay>(found);
  auto const factors = networks.factors_of(record, replay);
  auto answer = simulated(record, replay, with_compute(replay.scenario, factors.compute));
  answer.step_time = *answer.step_time * factors.replicas;
  answer.is_fitted = answer.is_fitted || factors.has_seen;
  std::ranges::copy(factors.notes, std::back_inserter(answer.notes));
  return answer;
} catch (InputError const& error) {
  return {.skipped = fmt::format("no plan: {}", error.what())};
}

}  // namespace twinstep::study
