#include "strategies/plan/read_plan.hpp"

#include <fmt/core.h>

#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

/// Some strategies move the optimizer with the parameters.
void read_offload(io::Node const& offload, Plan& plan) {
  offload.allow_only({"optimizer", "parameters", "activations"});
  auto const optimizer = offload.find("optimizer");
  if (auto const place = offload.find("parameters")) plan.states.offload.parameters = place->word<OffloadPlace>();
  if (optimizer)
    plan.states.offload.optimizer = optimizer->word<OffloadPlace>();
  else if (plan.strategy.traits().offload.moves_both)
    plan.states.offload.optimizer = plan.states.offload.parameters;
  plan.states.offload.activations = read_flag(offload, "activations", false);
}

void read_strategy(io::Node const& strategy, ModelSpec const& model, std::int64_t gpus, Plan& plan) {
  plan.strategy = strategy.at("name").word<StrategyName>();
  auto const ranks = read_size(strategy, "ranks", gpus);
  if (ranks > gpus)
    strategy.at("ranks").fail(fmt::format("{} ranks need as many GPUs, the cluster has {}", ranks, gpus),
                              fmt::format("use at most {} or more nodes", gpus));
  plan.parallel.data = ranks;
  if (auto const parallel = strategy.find("parallel")) read_parallel(*parallel, model, ranks, plan);
  read_options(strategy, model, plan);
  if (auto const recompute = strategy.find("recompute")) read_recompute(*recompute, model, plan);
  if (auto const offload = strategy.find("offload")) read_offload(*offload, plan);
}

}  // namespace

Plan read_plan(io::Node const& training, io::Node const& strategy, ModelSpec const& model, std::int64_t gpus) {
  auto plan = Plan{};
  read_strategy(strategy, model, gpus, plan);
  read_training(training, model, plan);
  check_plan(training, strategy, model, plan);
  return plan;
}

}  // namespace twinstep::strategies
