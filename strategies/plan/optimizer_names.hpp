#pragma once

#include <optional>
#include <string_view>

#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// The optimizer that frameworks call `name`, if it is one of ours: a value of the Hugging Face Trainer's `optim`
/// (transformers/training_args.py, OptimizerNames), or a class of torch.optim, bitsandbytes.optim, torchao.optim, Apex
/// or DeepSpeed, with or without its module ("bitsandbytes.optim.PagedAdamW8bit", as torchtune's `_component_` has it).
/// torch.optim's Adam is foreach on GPUs by default, and its SGD has no momentum by default.
[[nodiscard]] std::optional<Optimizer> optimizer_called(std::string_view name);

}  // namespace twinstep::strategies
