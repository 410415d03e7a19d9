#pragma once

#include "strategies/data_parallel.hpp"

namespace twinstep::strategies {

/// The optimizer's states for a stretch of parameters, and its update of them. AdamW keeps two moments; where
/// parameters are held below fp32 it also keeps fp32 masters, and writes the parameters from them.
class OptimizerStates {
 public:
  /// States for `elements` parameters of the plan's held type, in device or host memory.
  OptimizerStates(StepContext& context, std::int64_t elements,
                  program::MemorySpace space = program::MemorySpace::kDevice);

  /// Updates the stretch [begin, begin + elements) of the states with `gradient`, and `parameters` with them, on
  /// `stream`: one of the host's if the states lie there.
  OpId update(StreamId stream, std::int64_t begin, program::Region parameters, program::Region gradient);
  OpId update(std::int64_t begin, program::Region parameters, program::Region gradient) {
    return update(context_.compute, begin, parameters, gradient);
  }

 private:
  StepContext& context_;
  NameId name_;
  BufferId master_;  // none in full precision
  BufferId first_moment_;
  BufferId second_moment_;
};

}  // namespace twinstep::strategies
