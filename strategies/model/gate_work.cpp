#include <utility>

#include "strategies/model/block_writer.hpp"

namespace twinstep::strategies {

using program::Function;
using enum SlotKind;
using enum UnitWriter::Pass;

void BlockWriter::mlp_forward() {
  auto const input = model_.parallel_branches ? input_ : middle_;
  second_normed_ = w_.slot("mlp.norm", kept_by_branch(), hidden_);
  second_saved_ = w_.norm("mlp.norm", modules_.second_norm, model_.norm, input, {second_normed_});
  second_gathered_ = w_.gathered("mlp.norm", second_normed_, kForward);
  if (model_.gated_mlp) {
    gate_ = w_.slot("mlp.gate", kSaved, ffn_);
    w_.linear("mlp.gate", modules_.gate, second_gathered_, gate_);
  }
  // ReLU's gradient follows from its result.
  auto const is_relu = !model_.gated_mlp && model_.relu;
  up_ = w_.slot("mlp.up", is_relu ? kTemporary : kSaved, ffn_);
  w_.linear("mlp.up", modules_.up, second_gathered_, up_);
  if (model_.gated_mlp) {
    multiply_gate();
  } else {
    activated_ = w_.slot(is_relu ? "mlp.relu" : "mlp.gelu", kSaved, ffn_);
    w_.forward("mlp.activation.forward", w_.memory_bound(is_relu ? Function::kRelu : Function::kGelu, ffn_, 2),
               {reads(up_), writes(activated_)});
  }
  auto const out = leave_branch("mlp.down", modules_.down, activated_);
  mlp_mask_ = residual("mlp", modules_.down, out, middle_, w_.slot("output", kOutput, hidden_));
}

/// silu(gate) · up.
void BlockWriter::multiply_gate() {
  auto accesses = UnitWriter::Accesses{reads(gate_), reads(up_)};
  auto const activation = w_.shape().activation;
  auto const is_eager = activation == Activation::kEager;
  if (is_eager) {
    activated_gate_ = w_.slot("mlp.silu", kSaved, ffn_);
    accesses.push_back(writes(activated_gate_));
  }
  activated_ = w_.slot("mlp.product", activation == Activation::kRecomputed ? kTemporary : kSaved, ffn_);
  accesses.push_back(writes(activated_));
  w_.forward("mlp.activation.forward", w_.memory_bound(Function::kGate, ffn_, is_eager ? 5 : 3), std::move(accesses),
             is_eager ? 2 : 1);
}

void BlockWriter::mlp_backward() {
  auto const own_branch = branch_gradient("mlp", output_gradient_, mlp_mask_);
  auto const branch = w_.gathered("mlp.branch_gradient", own_branch, kBackward);
  if (model_.gated_mlp && w_.shape().activation == Activation::kRecomputed) {
    w_.backward("mlp.activation.recompute", w_.memory_bound(Function::kGate, ffn_, 3),
                {reads(gate_), reads(up_), writes(activated_)});
  }
  auto const activated_gradient = temporary("mlp.activated_gradient", ffn_);
  w_.linear_backward("mlp.down", modules_.down, activated_, branch, activated_gradient, own_branch);
  auto const up_gradient = temporary("mlp.up_gradient", ffn_);
  auto layers = std::vector<BranchEntry>{{"mlp.up", modules_.up, up_gradient}};
  if (model_.gated_mlp) {
    auto const gate_gradient = temporary("mlp.gate_gradient", ffn_);
    multiply_gate_backward(activated_gradient, gate_gradient, up_gradient);
    layers.push_back({"mlp.gate", modules_.gate, gate_gradient});
  } else {
    auto const function = model_.relu ? Function::kReluBackward : Function::kGeluBackward;
    w_.backward("mlp.activation.backward", w_.memory_bound(function, ffn_, 3),
                {reads(model_.relu ? activated_ : up_), reads(activated_gradient), writes(up_gradient)});
  }
  auto const normed_gradient = enter_branch_backward("mlp.norm", second_normed_, second_gathered_, std::move(layers));
  auto const input_gradient = temporary("mlp.input_gradient", hidden_);
  w_.norm_backward("mlp.norm", modules_.second_norm, second_saved_, {normed_gradient}, input_gradient);
  w_.backward("mlp.residual.backward", w_.memory_bound(Function::kAdd, hidden_, 3),
              {reads(output_gradient_), reads(input_gradient), writes(middle_gradient_)});
}

void BlockWriter::multiply_gate_backward(std::int32_t gradient, std::int32_t gate_gradient, std::int32_t up_gradient) {
  auto accesses = UnitWriter::Accesses{reads(gradient), reads(gate_), reads(up_)};
  auto const is_eager = w_.shape().activation == Activation::kEager;
  if (is_eager) accesses.push_back(reads(activated_gate_));
  accesses.push_back(writes(gate_gradient));
  accesses.push_back(writes(up_gradient));
  w_.backward("mlp.activation.backward", w_.memory_bound(Function::kGateBackward, ffn_, is_eager ? 8 : 5),
              std::move(accesses), is_eager ? 3 : 1);
}

}  // namespace twinstep::strategies
