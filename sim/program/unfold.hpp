#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// Operations and buffers of one micro-batch of a role: those of its scope, and what was added behind them.
struct MicroBatchRange {
  std::int32_t micro_batch = 0;
  std::size_t operations = 0;  ///< the first one
  std::size_t buffers = 0;
  bool operator==(MicroBatchRange const&) const = default;
};

/// Where the micro-batches of a role begin, in order. Requires that one follows the other. Cost: linear.
[[nodiscard]] std::vector<MicroBatchRange> micro_batches_of(StepProgram const& program, Role const& role);

/// The same step with `count` more of the micro-batches written that one stands for; all of them if there are fewer.
/// Requires a folded program. Operations, buffers and scopes come in the order in which the whole step has them; what
/// it has in several equal entries (variations) is in one. Cost: linear in what it returns.
[[nodiscard]] StepProgram unfold(StepProgram const& program, std::int64_t count);
/// The whole step; the program itself if nothing is left out.
[[nodiscard]] StepProgram unfold(StepProgram program);

}  // namespace twinstep::program
