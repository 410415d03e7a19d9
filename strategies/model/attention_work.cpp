#include <utility>

#include "strategies/model/block_writer.hpp"

namespace twinstep::strategies {

using program::Function;
using enum SlotKind;
using enum UnitWriter::Pass;

namespace {

constexpr double kRotaryBase = 10000;

}  // namespace

void BlockWriter::attention_forward() {
  first_normed_ = w_.slot("attention.norm", kept_by_branch(), hidden_);
  first_saved_ = w_.norm("attention.norm", modules_.first_norm, model_.norm, input_, {first_normed_});
  first_gathered_ = w_.gathered("attention.norm", first_normed_, kForward);
  project();
  context_ = w_.slot("attention.context", kSaved, w_.tokens() * model_.query_width());
  if (w_.shape().flash_attention) {
    flash_forward();
  } else {
    unfused_forward();
  }
  auto const out = leave_branch("attention.output", modules_.attention_output, context_);
  middle_ = w_.slot("middle", model_.parallel_branches ? kTemporary : kept_by_norm(model_.norm), hidden_);
  attention_mask_ = residual("attention", modules_.attention_output, out, input_, middle_);
}

std::vector<Projection> BlockWriter::projections() const {
  auto const rotary = model_.has_rotary_embedding();
  auto const query = model_.query_width();
  auto const key = model_.kv_width();
  if (model_.fused_qkv) return {{"attention.qkv", modules_.qkv, query + 2 * key, {}, rotary}};
  auto const norm_if = [&](std::string const& name) { return model_.query_key_norm ? name : std::string{}; };
  return {{"attention.query", modules_.query, query, norm_if(modules_.query_norm), rotary},
          {"attention.key", modules_.key, key, norm_if(modules_.key_norm), rotary},
          {"attention.value", modules_.value, key, {}, false}};
}

void BlockWriter::project() {
  projections_ = projections();
  for (auto& p : projections_) {
    auto const size = w_.tokens() * p.width;
    p.attended = w_.slot(p.name, w_.shape().flash_attention ? kSaved : kTemporary, size);
    p.unrotated = p.is_rotated ? temporary(p.name + ".unrotated", size) : p.attended;
    auto projected = p.unrotated;
    if (!p.norm.empty()) projected = w_.slot(p.name + ".unnormed", kept_by_norm(Norm::kRms), size);
    w_.linear(p.name, p.tensor, first_gathered_, projected);
    if (!p.norm.empty()) p.saved_norm = w_.norm(p.name + ".norm", p.norm, Norm::kRms, projected, {p.unrotated});
  }
  if (model_.has_rotary_embedding()) rotate();
}

std::int64_t BlockWriter::rotated_elements() const {
  auto const size = w_.tokens() * (model_.query_width() + model_.kv_width());
  return model_.rotary_size > 0 ? size / model_.head_size * model_.rotary_size : size;
}

/// The rotation of tensors whose rows are together `width` numbers long: of the heads of queries and of keys.
program::Elementwise BlockWriter::rotation(Function function, std::int64_t width) const {
  auto work = w_.memory_bound(function, rotated_elements(), 6);
  auto const heads = model_.heads + model_.kv_heads;
  auto const small = [](std::int64_t size) { return static_cast<std::int32_t>(size); };
  work.rows = {small(width), small(w_.shape().sequence_length), small(heads), small(model_.head_size)};
  work.scalar = kRotaryBase;
  return work;
}

void BlockWriter::rotate() {
  auto width = std::int64_t{0};
  auto accesses = UnitWriter::Accesses{};
  for (auto const& p : projections_)
    if (p.is_rotated) {
      accesses.push_back(reads(p.unrotated));
      width += p.width;
    }
  for (auto const& p : projections_)
    if (p.is_rotated) accesses.push_back(writes(p.attended));
  w_.forward("attention.rotary.forward", rotation(Function::kRotate, width), std::move(accesses), 6);
}

void BlockWriter::attention_backward() {
  auto const sum_gradient = model_.parallel_branches ? output_gradient_ : middle_gradient_;
  auto const branch = branch_gradient("attention", sum_gradient, attention_mask_);
  auto const context_gradient = temporary("attention.context_gradient", w_.elements(context_));
  auto const whole = w_.gathered("attention.branch_gradient", branch, kBackward);
  w_.linear_backward("attention.output", modules_.attention_output, context_, whole, context_gradient, branch);
  query_gradient_ = temporary("attention.query_gradient", w_.tokens() * model_.query_width());
  key_gradient_ = temporary("attention.key_gradient", w_.tokens() * model_.kv_width());
  value_gradient_ = temporary("attention.value_gradient", w_.tokens() * model_.kv_width());
  if (w_.shape().flash_attention) {
    flash_backward(context_gradient);
  } else {
    unfused_backward(context_gradient);
  }
  project_backward();
}

void BlockWriter::project_backward() {
  if (model_.has_rotary_embedding()) {
    w_.backward("attention.rotary.backward", rotation(Function::kRotateBack, model_.query_width() + model_.kv_width()),
                {updates(query_gradient_), updates(key_gradient_)}, 6);
  }
  auto gradients = std::vector{query_gradient_, key_gradient_, value_gradient_};
  if (model_.fused_qkv) {
    auto const joined = temporary("attention.qkv_gradient", w_.tokens() * projections_.front().width);
    auto join = w_.memory_bound(Function::kJoinColumns, w_.elements(joined), 2);
    join.rows.width = static_cast<std::int32_t>(projections_.front().width);
    w_.backward("attention.qkv.concatenate", join,
                {reads(query_gradient_), reads(key_gradient_), reads(value_gradient_), writes(joined)});
    gradients = {joined};
  }
  auto layers = std::vector<BranchEntry>{};
  for (std::size_t i = 0; i < projections_.size(); ++i) {
    auto const& p = projections_[i];
    layers.push_back({p.name, p.tensor, gradients[i], p.norm, p.saved_norm});
  }
  auto const normed_gradient =
      enter_branch_backward("attention.norm", first_normed_, first_gathered_, std::move(layers));
  auto const branch = temporary("attention.input_gradient", hidden_);
  w_.norm_backward("attention.norm", modules_.first_norm, first_saved_, {normed_gradient}, branch);
  w_.backward("attention.residual.backward", w_.memory_bound(Function::kAdd, hidden_, 3),
              {reads(middle_gradient_), reads(branch), writes(input_gradient_)});
}

}  // namespace twinstep::strategies
