#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/data_type.hpp"
#include "sim/base/enum_names.hpp"

namespace twinstep::strategies {

/// The kernels between a gated MLP's products, silu(gate) · up. Bytes kept for each number of its width in 16 bits.
enum class Activation : std::uint8_t {
  kEager,      ///< two kernels; kept are gate, up, silu(gate) and the product: 8
  kFused,      ///< one kernel, which backward makes silu(gate) again in; kept are gate, up and the product: 6
  kRecomputed  ///< the same, and backward makes the product again too: 4
};

/// The kernels of a loss over a vocabulary.
enum class CrossEntropy : std::uint8_t {
  kPlain,   ///< PyTorch's: log-probabilities and their gradient in fp32
  kFused,   ///< one kernel in the compute type that also makes the gradient
  kChunked  ///< the last matrix and the loss, with their gradients, for an eighth of the tokens at a time: the logits
            ///< are never whole
};

/// The kernels of a norm.
enum class NormKernels : std::uint8_t {
  kFused,  ///< one; keeps its statistics
  kEager   ///< PyTorch's operators one by one, on an fp32 copy
};

/// How numbers are scaled on their way into 8 bits.
enum class Scaling : std::uint8_t {
  kTensorWise,  ///< one factor for a tensor: a kernel finds the largest number, another casts
  kRowWise,     ///< one for each row: one kernel finds and casts, once for each order in which products read the tensor
  kDelayed,     ///< TransformerEngine's, by factors known before: one kernel casts for both orders, and forward's casts
                ///< are kept for backward in place of what they were made of
  kCurrent      ///< the same after a kernel that finds the largest number
};

/// How ranks of a tensor group share every layer: the columns of a linear layer that goes into a branch, the rows of
/// the one that leads out of it, heads, and the vocabulary. Sources: Shoeybi et al., Megatron-LM, arXiv 1909.08053,
/// section 3; Korthikanti et al., arXiv 2205.05198, section 4.2.2.
struct TensorSplit {
  std::int64_t ranks = 1;
  /// Between linear layers each rank has a part of the tokens; they are gathered and reduce-scattered around. Otherwise
  /// every rank has all of them, and sums are all-reduced.
  bool sequence = false;
  /// Backward gathers a linear layer's input a second time, behind the product for the data gradient, and reduces the
  /// data gradient behind those for weight gradients. Otherwise the gathered input is kept, and nothing is hidden.
  /// Source: Megatron-LM, tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication.
  bool hides_collectives = true;
  std::int64_t vocabulary_multiple = 1;  ///< a rank's part of the vocabulary is padded to it
  bool operator==(TensorSplit const&) const = default;
};

/// What one rank computes at a time, in which types, and by which kernels.
struct Shape {
  std::int64_t micro_batch = 1;      ///< sequences; for an MLP or a CNN, samples
  std::int64_t sequence_length = 1;  ///< tokens of a sequence; 1 for an MLP or a CNN
  DataType compute_type = DataType::kBf16;
  DataType gradient_type = DataType::kBf16;  ///< of parameter gradients
  bool flash_attention = true;               ///< otherwise batched GEMMs and a stored s × s score matrix
  double loss_scale = 1;  ///< factor of the loss's gradient: for an MLP 2 / (elements of the global batch's output),
                          ///< for a transformer 1 / (its tokens) makes gradients summed over ranks and micro-batches
                          ///< those of the mean error
  Activation activation = Activation::kEager;
  CrossEntropy cross_entropy = CrossEntropy::kPlain;
  NormKernels norms = NormKernels::kFused;
  std::optional<DataType> linear_type = {};  ///< in which a block's linear layers multiply, if not the compute type
  Scaling scaling = Scaling::kTensorWise;    ///< of numbers for `linear_type`
  TensorSplit split = {};                    ///< of a transformer
};

}  // namespace twinstep::strategies

namespace twinstep {

template <>
struct EnumNames<strategies::Activation> {
  static constexpr std::array<std::string_view, 3> values{"eager", "fused", "recomputed"};
};
template <>
struct EnumNames<strategies::CrossEntropy> {
  static constexpr std::array<std::string_view, 3> values{"plain", "fused", "chunked"};
};
template <>
struct EnumNames<strategies::NormKernels> {
  static constexpr std::array<std::string_view, 2> values{"fused", "eager"};
};
template <>
struct EnumNames<strategies::Scaling> {
  static constexpr std::array<std::string_view, 4> values{"tensor-wise", "row-wise", "delayed", "current"};
};

}  // namespace twinstep
