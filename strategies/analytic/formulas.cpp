#include "strategies/analytic/formulas.hpp"

#include "sim/base/check.hpp"

namespace twinstep::strategies::analytic {
Bytes model_state_memory(std::int64_t parameters, std::int64_t ranks, ShardedStates sharded, StateBytes const& bytes) {
  TWINSTEP_CHECK(ranks >= 1, "a job has a rank");
  auto whole = std::int64_t{0};
  auto divided = std::int64_t{0};
  auto const add = [&](std::int64_t state_bytes, ShardedStates from) {
    (sharded >= from ? divided : whole) += state_bytes * parameters;
  };
  add(bytes.optimizer, ShardedStates::kOptimizer);
  add(bytes.gradient, ShardedStates::kGradients);
  add(bytes.parameter, ShardedStates::kParameters);
  return Bytes{whole + divide_up(divided, ranks)};
}

Bytes deepspeed_estimate(EstimatedStates const& states) {
  TWINSTEP_CHECK(states.ranks >= 1, "a job has a rank");
  auto const of_shard = [&](std::int64_t bytes) { return bytes * states.parameters / states.ranks; };
  if (states.stage < 3)
    return Bytes{states.offloads_optimizer ? 2 * states.parameters : 4 * states.parameters + of_shard(16)};
  auto const layer = 4 * states.largest_layer;
  if (states.offloads_parameters) return Bytes{layer};
  return Bytes{layer + of_shard(states.offloads_optimizer ? 2 : 18)};
}

}  // namespace twinstep::strategies::analytic
