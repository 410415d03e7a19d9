#include "explore/plan/planned_step.hpp"

#include <fmt/format.h>

namespace twinstep::explore::plan {
namespace {

/// "none", "optimizer", "parameters + activations", "optimizer (NVMe)". Parameters never go without the optimizer.
std::string offload_text(strategies::Offload const& offload) {
  using enum strategies::OffloadPlace;
  auto const at = [](std::string const& what, auto place) { return place == kNvme ? what + " (NVMe)" : what; };
  auto parts = std::vector<std::string>{};
  if (offload.optimizer != kNone && offload.optimizer != offload.parameters)
    parts.push_back(at("optimizer", offload.optimizer));
  if (offload.parameters != kNone) parts.push_back(at("parameters", offload.parameters));
  if (offload.activations) parts.emplace_back("activations");
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, " + "));
}

}  // namespace

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
