#pragma once

#include <variant>

#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::explore {

/// Whether a strategy is proposed to who did not ask for it: some framework runs it as it is, and trains such models
/// with it. Megatron-LM trains transformers.
[[nodiscard]] inline bool is_offered(strategies::StrategyName name, strategies::ModelSpec const& model) {
  if (name == strategies::StrategyName::kMegatron) return std::holds_alternative<strategies::Transformer>(model);
  return !is_textbook(name);
}

}  // namespace twinstep::explore
