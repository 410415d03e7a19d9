#include "explore/plan/planned_step.hpp"

namespace twinstep::explore::plan {
Bytes checkpoint_bytes(strategies::ModelSpec const& model, strategies::Plan const& plan) {
  auto const optimizer = strategies::traits_of(plan.states.optimizer);
  auto const moment = optimizer.has_8_bits ? Bytes{1} : size_of(master_type(plan));
  auto const master = has_master_copy(plan) ? size_of(master_type(plan)) : Bytes{};
  return (size_of(held_type(plan)) + master + moment * optimizer.moments) * parameter_count(model);
}

reports::PlannedStep planned_step(hardware::Cluster const& cluster, Simulated const& simulated) {
  auto const& [candidate, summary] = simulated;
  auto const accumulation = strategies::accumulation(candidate.plan);
  return {.cluster = cluster.name,
          .nodes = cluster.nodes(),
          .gpus = cluster.gpus(),
          .strategy = std::string{name_of(candidate.plan.strategy)},
          .options = other_options(candidate.plan),
          .shard_group = is_sharded(candidate.plan) ? shard_ranks(candidate.plan) : 1,
          .micro_batch = candidate.plan.batch.micro_batch,
          .accumulation = accumulation,
          .recompute = recompute_text(candidate.plan.kernels),
          .offload = offload_text(candidate.plan.states.offload),
          .bound = to_seconds(candidate.bound.step_time),
          .step_time = summary.step_time,
          .exposed = summary.exposed_communication,
          .token_rate = summary.token_rate,
          .counted = std::string{summary.counted},
          .mfu = summary.mfu,
          .peak = summary.reserved_peak.total()};
}

}  // namespace twinstep::explore::plan
