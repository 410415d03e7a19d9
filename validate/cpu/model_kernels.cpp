#include "validate/cpu/model_kernels.hpp"

#include "sim/base/check.hpp"

namespace twinstep::cpu {

void compute_of_transformer(program::Elementwise const& kernel, Operands operands) {
  auto const period = static_cast<std::size_t>(kernel.rows.period());
  using enum program::Function;
  switch (kernel.function) {
    case kAddTo: return add_to(operands);
    case kRelu: return relu(operands);
    case kReluBackward: return relu_backward(operands);
    case kGate: return gate(operands);
    case kGateBackward: return gate_backward(operands);
    case kGatherRows: return gather_rows(operands);
    case kScatterRows: return scatter_rows(operands);
    case kAddRepeated: return add_repeated(period, operands);
    case kSumRepeated: return sum_repeated(period, kernel.accumulate, operands);
    case kJoinColumns: return join_columns(period, operands);
    case kRmsNorm:
    case kLayerNorm: return norm(kernel, operands);
    case kRmsNormBackward:
    case kLayerNormBackward: return norm_backward(kernel, operands);
    case kRotate:
    case kRotateBack: return rotate(kernel, kernel.elements.base, operands);
    case kSplitHeads: return split_heads(kernel.rows, operands);
    case kMergeHeads: return merge_heads(kernel.rows, operands);
    case kSoftmax: return softmax(kernel, operands);
    case kSoftmaxBackward: return softmax_backward(kernel, operands);
    case kCrossEntropy: return cross_entropy(operands);
    case kCrossEntropyBackward: return cross_entropy_backward(kernel.scalar, operands);
    case kFusedCrossEntropy: return fused_cross_entropy(operands);
    case kFusedCrossEntropyBackward: return fused_cross_entropy_backward(kernel.scalar, operands);
    case kRowMaximum: return row_maximum(operands);
    case kCrossEntropyPart:
    case kFusedCrossEntropyPart: return cross_entropy_part(kernel.function == kFusedCrossEntropyPart, operands);
    case kCrossEntropyJoin:
    case kFusedCrossEntropyJoin: return cross_entropy_join(kernel.function == kFusedCrossEntropyJoin, operands);
    default: TWINSTEP_UNREACHABLE("every function of a transformer has its kernel");
  }
}

}  // namespace twinstep::cpu
