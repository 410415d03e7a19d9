#include "strategies/model/loss_writer.hpp"

#include <utility>

namespace twinstep::strategies {

using enum SlotKind;

LossWriter::LossWriter(UnitWriter& writer, std::string name, std::int32_t targets, std::int64_t logits, Forward when)
    : w_{writer},
      name_{std::move(name)},
      targets_{targets},
      count_{logits},
      when_{when},
      kept_{when == Forward::kInForward ? kSaved : kTemporary},
      logits_{slot("logits", kept_, writer.shape().compute_type)},
      result_{is_fused() ? slot("unscaled_gradient", kept_, writer.shape().compute_type)
                         : slot("log_probabilities", kept_, DataType::kFp32)} {}

bool LossWriter::is_fused() const {
  return w_.shape().cross_entropy == CrossEntropy::kFused;
}

std::int32_t LossWriter::slot(std::string_view name, SlotKind kind, DataType type) {
  return w_.slot({name_ + "." + std::string{name}, kind, count_, type, program::MemoryCategory::kLogits});
}

program::Elementwise LossWriter::kernel(std::int32_t bytes) const {
  return {program::Function::kCrossEntropy, count_, bytes, w_.shape().compute_type};
}

void LossWriter::forward() {
  auto const size = static_cast<std::int32_t>(size_of(w_.shape().compute_type).count());
  auto const work = kernel(is_fused() ? 3 * size : kCrossEntropyForwardBytes);
  auto accesses = UnitWriter::Accesses{reads(logits_), reads(targets_), writes(result_)};
  auto const name = name_ + ".cross_entropy.forward";
  auto const launches = is_fused() ? 1U : 3U;
  if (when_ == Forward::kInForward) {
    w_.forward(name, work, std::move(accesses), launches);
  } else {
    w_.backward(name, work, std::move(accesses), launches);
  }
}

std::int32_t LossWriter::backward() {
  auto const type = w_.shape().compute_type;
  auto accesses = UnitWriter::Accesses{reads(logits_), reads(targets_), reads(result_)};
  if (!is_fused() && size_of(type) < size_of(DataType::kFp32))
    accesses.push_back(writes(slot("log_probability_gradient", kTemporary, DataType::kFp32)));
  auto const gradient = slot("logits_gradient", kTemporary, type);
  accesses.push_back(writes(gradient));
  auto const size = static_cast<std::int32_t>(size_of(type).count());
  w_.backward(name_ + ".cross_entropy.backward", kernel(is_fused() ? 2 * size : kCrossEntropyBackwardBytes),
              std::move(accesses), is_fused() ? 1 : 3);
  return gradient;
}

}  // namespace twinstep::strategies
