#include "strategies/model/loss_writer.hpp"

#include <utility>

namespace twinstep::strategies {

using program::Function;
using enum SlotKind;

LossWriter::LossWriter(UnitWriter& writer, std::string name, SlotAccess targets, std::int64_t logits, Pass when)
    : w_{writer},
      name_{std::move(name)},
      targets_{targets},
      count_{logits},
      when_{when},
      kept_{when == Pass::kForward ? kSaved : kTemporary},
      logits_{slot("logits", is_fused() ? kept_ : kTemporary, writer.shape().compute_type)},
      result_{is_fused() ? slot("unscaled_gradient", kept_, writer.shape().compute_type)
                         : slot("log_probabilities", kept_, w_.statistics_type())} {}

bool LossWriter::is_16_bit() const {
  return size_of(w_.shape().compute_type) < size_of(DataType::kFp32);
}

bool LossWriter::is_fused() const {
  return w_.shape().cross_entropy == CrossEntropy::kFused;
}

std::int32_t LossWriter::slot(std::string_view name, SlotKind kind, DataType type) {
  return w_.slot({name_ + "." + std::string{name}, kind, count_, type, program::MemoryCategory::kLogits});
}

program::Elementwise LossWriter::kernel(Function function, std::int32_t bytes) const {
  return {function, count_, bytes, w_.shape().compute_type, program::KernelFamily::kLoss};
}

void LossWriter::forward() {
  auto const size = static_cast<std::int32_t>(size_of(w_.shape().compute_type).count());
  auto const function = is_fused() ? Function::kFusedCrossEntropy : Function::kCrossEntropy;
  auto const bytes = is_fused() ? 3 * size : kCrossEntropyForwardBytes;
  auto accesses = UnitWriter::Accesses{reads(logits_), targets_};
  if (!is_fused() && is_16_bit()) accesses.push_back(writes(slot("logits_in_fp32", kTemporary, DataType::kFp32)));
  accesses.push_back(writes(result_));
  if (w_.shape().split.ranks > 1) return write_over_ranks(bytes, accesses);
  write(".cross_entropy.forward", kernel(function, bytes), std::move(accesses), is_fused() ? 1U : 3U);
}

void LossWriter::write(std::string const& name, program::Elementwise const& work, UnitWriter::Accesses accesses,
                       std::uint32_t launches) {
  if (when_ == Pass::kForward) {
    w_.forward(name_ + name, work, std::move(accesses), launches);
  } else {
    w_.backward(name_ + name, work, std::move(accesses), launches);
  }
}

void LossWriter::write_over_ranks(std::int32_t bytes, UnitWriter::Accesses const& accesses) {
  auto const numbers = [&](std::string_view what) {
    return w_.slot({name_ + "." + std::string{what}, SlotKind::kTemporary, w_.tokens(), w_.statistics_type(),
                    program::MemoryCategory::kLogits});
  };
  auto const largest = numbers("largest");
  auto const picked = numbers("picked");
  auto const sum = numbers("sum");
  write(".cross_entropy.largest", kernel(Function::kRowMaximum, bytes / 3), {reads(logits_), writes(largest)}, 1);
  w_.all_reduce(name_ + ".cross_entropy.largest", largest, program::Reduction::kMax, when_);
  auto middle = accesses;
  for (auto const& access : {reads(largest), writes(picked), writes(sum)}) middle.push_back(access);
  auto const part = is_fused() ? Function::kFusedCrossEntropyPart : Function::kCrossEntropyPart;
  write(".cross_entropy.exponentials", kernel(part, bytes / 3), std::move(middle), 1);
  w_.all_reduce(name_ + ".cross_entropy.picked", picked, program::Reduction::kSum, when_);
  w_.all_reduce(name_ + ".cross_entropy.sum", sum, program::Reduction::kSum, when_);
  auto const join = is_fused() ? Function::kFusedCrossEntropyJoin : Function::kCrossEntropyJoin;
  write(".cross_entropy.forward", kernel(join, bytes / 3), {targets_, reads(picked), reads(sum), updates(result_)}, 1);
}

std::int32_t LossWriter::backward() {
  auto const type = w_.shape().compute_type;
  auto const name = name_ + ".cross_entropy.backward";
  auto const gradient = slot("logits_gradient", kTemporary, type);
  if (is_fused()) {
    auto const size = static_cast<std::int32_t>(size_of(type).count());
    auto work = kernel(Function::kFusedCrossEntropyBackward, 2 * size);
    work.scalar = w_.shape().loss_scale;
    w_.backward(name, work, {reads(logits_), targets_, reads(result_), writes(gradient)});
    return gradient;
  }
  auto const picked = slot("log_probability_gradient", kTemporary, w_.statistics_type());
  auto const wide = is_16_bit() ? slot("logits_gradient_in_fp32", kTemporary, DataType::kFp32) : gradient;
  auto const cast_bytes = is_16_bit() ? 4 + 2 : 0;
  auto work = kernel(Function::kCrossEntropyBackward, kCrossEntropyBackwardBytes - cast_bytes);
  work.scalar = w_.shape().loss_scale;
  w_.backward(name, work, {targets_, reads(result_), writes(picked), writes(wide)}, is_16_bit() ? 2 : 3);
  if (is_16_bit())
    w_.backward(name_ + ".cross_entropy.cast_gradient", kernel(Function::kScale, cast_bytes),
                {reads(wide), writes(gradient)});
  return gradient;
}

}  // namespace twinstep::strategies
