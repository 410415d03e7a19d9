#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/mesh/schedule.hpp"

namespace twinstep::strategies {
namespace {

using enum ScheduledPass::Kind;

/// Writes passes over two chunks; each kind of pass takes a chunk's micro-batches in order.
class VWriter {
 public:
  /// Passes over micro-batches from `micro_batches` on are left out.
  explicit VWriter(std::int64_t micro_batches) : micro_batches_{micro_batches} {}

  void forward(std::size_t chunk) { add(kForward, chunk, forwards_[chunk]++); }
  /// Both gradients at once.
  void backward(std::size_t chunk) { add(kBackward, chunk, backwards_[chunk]++); }
  /// The weight gradient is owed.
  void input_gradient(std::size_t chunk) {
    add(kInputGradient, chunk, backwards_[chunk]);
    owed_.push_back({kWeightGradient, chunk, backwards_[chunk]++});
  }
  /// The first one that is owed of this chunk.
  void weight_gradient(std::size_t chunk) { pay(std::ranges::find(owed_, chunk, &ScheduledPass::chunk)); }
  /// The first one that is owed.
  void weight_gradient() { pay(owed_.begin()); }

  [[nodiscard]] std::int64_t forwards(std::size_t chunk) const { return forwards_[chunk]; }
  [[nodiscard]] bool owes(std::size_t chunk) const {
    return std::ranges::find(owed_, chunk, &ScheduledPass::chunk) != owed_.end();
  }
  [[nodiscard]] Schedule finish() && { return std::move(schedule_); }

 private:
  void add(ScheduledPass::Kind kind, std::size_t chunk, std::int64_t micro_batch) {
    if (micro_batch < micro_batches_) schedule_.push_back({kind, chunk, micro_batch});
  }
  void pay(std::deque<ScheduledPass>::iterator owed) {
    TWINSTEP_CHECK(owed != owed_.end(), "a weight gradient comes after its input gradient");
    add(owed->kind, owed->chunk, owed->micro_batch);
    owed_.erase(owed);
  }

  std::int64_t micro_batches_;
  Schedule schedule_;
  std::array<std::int64_t, 2> forwards_{};
  std::array<std::int64_t, 2> backwards_{};
  std::deque<ScheduledPass> owed_;
};

void repeat(std::int64_t times, auto const& write) {
  for (std::int64_t i = 0; i < times; ++i) write();
}

}  // namespace

// A pipeline that is not full is written as the start and the end of one that is.
Schedule zero_bubble_v(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches) {
  auto const full = std::max(2 * stages - 1, micro_batches);
  auto w = VWriter{micro_batches};
  auto const split_backward = [&](std::size_t chunk) {
    w.input_gradient(chunk);
    w.weight_gradient(chunk);
  };
  repeat(2 * (stages - stage) - 1, [&] { w.forward(0); });
  repeat(stage, [&] {
    w.forward(1);
    w.forward(0);
  });
  repeat(stages - stage, [&] {
    w.forward(1);
    split_backward(1);
  });
  while (w.forwards(1) < w.forwards(0) || w.forwards(0) < full) {
    if (w.forwards(0) < full) w.forward(0);
    split_backward(0);
    w.forward(1);
    split_backward(1);
  }
  repeat(stage, [&] {
    w.input_gradient(0);
    w.input_gradient(1);
  });
  repeat(stages - stage, [&] { split_backward(0); });
  while (w.owes(1)) w.weight_gradient(1);
  while (w.owes(0)) w.weight_gradient(0);
  return std::move(w).finish();
}

Schedule dual_pipe_v(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches) {
  auto w = VWriter{micro_batches};
  auto const later = stages - stage - 1;
  repeat(2 * later, [&] { w.forward(0); });
  repeat(stage + 1, [&] {
    w.forward(0);
    w.forward(1);
  });
  repeat(later, [&] {
    w.input_gradient(1);
    w.weight_gradient();
    w.forward(1);
  });
  repeat(micro_batches - 2 * stages + stage + 1, [&] {
    w.forward(0);
    w.backward(1);
    w.forward(1);
    w.backward(0);
  });
  repeat(later, [&] {
    w.backward(1);
    w.forward(1);
    w.backward(0);
  });
  // Halfway through these, weight gradients begin to be put off: on odd stages before the pair's first backward, on
  // even ones before its second.
  auto const half = (stage + 1) / 2;
  for (std::int64_t i = 0; i <= stage; ++i) {
    auto const is_odd = stage % 2 == 1;
    i > half || (i == half && is_odd) ? w.input_gradient(1) : w.backward(1);
    i >= half ? w.input_gradient(0) : w.backward(0);
  }
  repeat(later, [&] {
    w.weight_gradient();
    w.input_gradient(0);
  });
  repeat(stage + 1, [&] { w.weight_gradient(); });
  return std::move(w).finish();
}

}  // namespace twinstep::strategies
