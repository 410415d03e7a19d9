#include "validate/measure/emulate.hpp"

#include <algorithm>

#include "sim/cost/kernel_cost.hpp"
#include "sim/program/role_ranks.hpp"

namespace twinstep::measure {
namespace {

bool is_kernel(program::Work const& work) {
  return std::holds_alternative<program::Gemm>(work) || std::holds_alternative<program::Attention>(work) ||
         std::holds_alternative<program::Elementwise>(work);
}

}  // namespace

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
