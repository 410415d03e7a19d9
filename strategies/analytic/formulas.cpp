#include "strategies/analytic/formulas.hpp"

#include "sim/base/check.hpp"

namespace twinstep::strategies::analytic {
namespace {

std::int64_t elements(TransformerShape const& shape) {
  return shape.sequence * shape.micro_batch * shape.hidden;
}

}  // namespace

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

Bytes layer_activations_without_scores(TransformerShape const& shape) {
  return Bytes{34 * elements(shape)};
}

Bytes score_activations(TransformerShape const& shape) {
  return Bytes{5 * shape.heads * shape.sequence * shape.sequence * shape.micro_batch};
}

Bytes layer_input_activations(TransformerShape const& shape) {
  return Bytes{2 * elements(shape)};
}

Flops training_flops(double parameters, double tokens) {
  return Flops{6 * parameters * tokens};
}

Seconds job_time(Flops work, FlopsPerSecond rate, std::int64_t ranks) {
  TWINSTEP_CHECK(ranks >= 1 && rate.count() > 0, "work needs a rank and a rate");
  return Seconds{work.count() / rate.count() / static_cast<double>(ranks)};
}

Seconds all_reduce_time(Bytes size, BytesPerSecond bus) {
  TWINSTEP_CHECK(bus.count() > 0, "a transfer needs a positive rate");
  return Seconds{2 * static_cast<double>(size.count()) / bus.count()};
}

double gradient_communication_ratio(FlopsPerSecond rate, BytesPerSecond bus, double tokens_per_rank) {
  TWINSTEP_CHECK(bus.count() > 0 && tokens_per_rank > 0, "a ratio needs compute and a rate");
  return 2 * rate.count() / (3 * bus.count() * tokens_per_rank);
}

}  // namespace twinstep::strategies::analytic
