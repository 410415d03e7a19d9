#include "validate/study/step_replay.hpp"

#include <fmt/format.h>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "strategies/compile.hpp"

namespace twinstep::study {
namespace {

using namespace explore;

using validate::StepRecord;

hardware::Cluster machine_of(StepRecord const& record, std::optional<hardware::Cluster> const& named,
                             strategies::Plan const& plan) {
  if (!named && !record.cluster) throw Impossible{"not stated: the \"cluster\" that it ran on"};
  auto cluster = named ? *named : hw_profiles::read_cluster(*record.cluster);
  if (named) cluster.nodes() = divide_up(plan.parallel.world(), cluster.node().gpus);
  if (plan.parallel.world() > cluster.gpus())
    throw Impossible{fmt::format("{} ranks on a cluster of {} GPUs", plan.parallel.world(), cluster.gpus())};
  if (!cluster.node().gpu.peak(plan.kernels.precision))
    throw Impossible{fmt::format("{} has no rate for {}", cluster.node().gpu.name, name_of(plan.kernels.precision))};
  if (plan.kernels.linear_type && !cluster.node().gpu.peak(*plan.kernels.linear_type))
    throw Impossible{fmt::format("{} has no rate for {}", cluster.node().gpu.name, name_of(*plan.kernels.linear_type))};
  if (cluster.stack.name.empty()) {
    auto const stack = record.is_our_program ? std::string_view{"none"} : software_of(record).stack;
    cluster.stack = hw_profiles::read_stack(io::string_node(std::string{stack}, "stack"));
  }
  return cluster;
}

}  // namespace

std::variant<StepReplay, NotReplayed> replay_of(StepRecord const& record,
                                                std::optional<hardware::Cluster> const& named) try {
  if (!record.problem.empty()) return NotReplayed{"not readable: " + record.problem};
  auto model = model_of(record.model);
  auto [plan, near_to, assumed] = plan_of(record);
  auto cluster = machine_of(record, named, plan);
  auto scenario = on(std::move(cluster), {.model = std::move(model), .plan = plan});
  scenario.strategy_title = name_of(scenario.plan.strategy);
  return StepReplay{std::move(scenario), std::move(near_to), std::move(assumed)};
} catch (Impossible const& reason) {
  return NotReplayed{reason.reason};
} catch (InputError const& error) {
  return NotReplayed{fmt::format("no such machine: {}", error.what())};
}

}  // namespace twinstep::study
