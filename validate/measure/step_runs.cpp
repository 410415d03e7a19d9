#include "validate/measure/step_runs.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/cost/kernel_cost.hpp"
#include "sim/program/role_ranks.hpp"

namespace twinstep::measure {

namespace {

bool is_kernel(program::Work const& work) {
  return std::holds_alternative<program::Gemm>(work) || std::holds_alternative<program::Attention>(work) ||
         std::holds_alternative<program::Elementwise>(work);
}

}  // namespace

StepRuns run_steps(Executor& executor, program::StepProgram const& program, int steps, int warm_up) {
  TWINSTEP_CHECK(steps > 0 && warm_up >= 0, "at least one step is measured");
  for (int i = 0; i < warm_up; ++i) static_cast<void>(executor.run(program));
  auto timelines = std::vector<timeline::Timeline>{};
  for (int i = 0; i < steps; ++i) timelines.push_back(executor.run(program));
  auto runs = StepRuns{};
  if (!executor.job().is_first_process) return runs;
  for (auto const& timeline : timelines) runs.times.push_back(timeline.step_time);
  runs.time = spread_of(runs.times);
  auto const middle = timelines.begin() + (steps - 1) / 2;
  std::ranges::nth_element(timelines, middle, {}, &timeline::Timeline::step_time);
  runs.median = std::move(*middle);
  return runs;
}

program::StepProgram with_delays(program::StepProgram program, hardware::Gpu const& gpu) {
  auto const model = cost::KernelModel{gpu};
  for (auto& role : program.roles) {
    auto const rank = lowest_rank(program, role);
    for (auto& op : role.operations) {
      if (!is_kernel(op.work)) continue;
      auto const* elementwise = std::get_if<program::Elementwise>(&op.work);
      auto const elements = elementwise != nullptr ? program.evaluate(elementwise->elements, rank) : 0;
      auto const cost = model.demand(op.work, elements, 0);
      auto const memory = transfer_time(cost.memory, gpu.memory_bandwidth.value);
      op.work = program::Delay{cost.start + std::max(cost.compute, memory)};
    }
  }
  return program;
}

}  // namespace twinstep::measure
