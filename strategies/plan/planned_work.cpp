#include "strategies/plan/planned_work.hpp"

namespace twinstep::strategies {
namespace {

/// The derivative of the mean error over the global batch (squared, or the tokens' cross-entropy), where strategies add
/// up gradients; where they average them over ranks, that over the batch of one rank.
double loss_scale(ModelSpec const& model, Plan const& plan) {
  auto const averaged = plan.strategy.traits().averages_gradients ? static_cast<double>(plan.parallel.data) : 1;
  auto const samples = static_cast<double>(plan.batch.global_batch);
  if (auto const* mlp = std::get_if<Mlp>(&model))
    return 2.0 * averaged / (samples * static_cast<double>(mlp->widths.back()));
  return averaged / (samples * static_cast<double>(plan.batch.sequence_length));
}

/// Megatron-LM pads each rank's part of the vocabulary to 128 rows (make-vocab-size-divisible-by), and so does who
/// builds on it; PyTorch's DTensor leaves the last rank fewer.
TensorSplit tensor_split(Plan const& plan) {
  auto const is_torch = plan.strategy.traits().family == Family::kTorch;
  return {.ranks = plan.parallel.tensor,
          .sequence = plan.parallel.sequence && plan.parallel.tensor > 1,
          .hides_collectives = !is_torch,
          .vocabulary_multiple = is_torch ? 1 : 128};
}

}  // namespace

ModelWork planned_work(ModelSpec const& model, Plan const& plan) {
  return work_of(model, {.micro_batch = plan.batch.micro_batch,
                         .sequence_length = plan.batch.sequence_length,
                         .compute_type = plan.kernels.precision,
                         .gradient_type = plan.kernels.precision,
                         .flash_attention = plan.kernels.flash_attention,
                         .loss_scale = loss_scale(model, plan),
                         .activation = plan.kernels.activation,
                         .cross_entropy = plan.kernels.cross_entropy,
                         .norms = plan.kernels.norms,
                         .linear_type = plan.kernels.linear_type,
                         .scaling = plan.kernels.scaling,
                         .split = tensor_split(plan)});
}

}  // namespace twinstep::strategies
