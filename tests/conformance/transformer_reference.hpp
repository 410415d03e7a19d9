#pragma once

#include <cstdint>
#include <vector>

#include "strategies/model/model_spec.hpp"

/// Transformers once more, as plain as they can be written, for comparison.
namespace twinstep::tests {

/// The parameters of `model`, tensor after tensor, after `kTrainingSteps` steps of AdamW on a batch of so many
/// sequences of `length` tokens each: number by number, with gradients by automatic differentiation. Initial parameters
/// and tokens are those of tests/conformance/training.hpp.
[[nodiscard]] std::vector<double> reference_training(strategies::Transformer const& model, std::int64_t batch,
                                                     std::int64_t length);

}  // namespace twinstep::tests
