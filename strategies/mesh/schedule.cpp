#include "strategies/mesh/schedule.hpp"

#include <algorithm>

namespace twinstep::strategies {

namespace {

void add_one_after_another(std::int64_t first, std::int64_t end, Schedule& schedule) {
  for (auto i = first; i < end; ++i) {
    schedule.push_back({ScheduledPass::Kind::kForward, 0, i});
    schedule.push_back({ScheduledPass::Kind::kBackward, 0, i});
  }
}

}  // namespace

Schedule one_after_another(std::int64_t micro_batches) {
  auto schedule = Schedule{};
  schedule.reserve(2 * static_cast<std::size_t>(micro_batches));
  add_one_after_another(0, micro_batches, schedule);
  return schedule;
}

// A step has settled after three or four micro-batches as a rule, and three alike are needed to see it. Behind the gap
// lies one more like them, before the last, which is not.
FoldedSchedule one_after_another_folded(std::int64_t micro_batches) {
  // An even number is left out: some steps use two sets of blocks of memory in turn.
  constexpr auto kLast = std::int64_t{2};
  auto const first = 6 + micro_batches % 2;
  auto const left_out = micro_batches - first - kLast;
  if (left_out <= 0) return {one_after_another(micro_batches), 0, 0};
  auto folded = FoldedSchedule{{}, first - 1, left_out};
  add_one_after_another(0, first, folded.passes);
  add_one_after_another(micro_batches - kLast, micro_batches, folded.passes);
  return folded;
}

Schedule gpipe(std::int64_t micro_batches) {
  using enum ScheduledPass::Kind;
  auto schedule = Schedule{};
  for (auto const kind : {kForward, kBackward})
    for (std::int64_t i = 0; i < micro_batches; ++i) schedule.push_back({kind, 0, i});
  return schedule;
}

Schedule one_forward_one_backward(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches) {
  using enum ScheduledPass::Kind;
  auto const warm_up = std::min(stages - stage - 1, micro_batches);
  auto schedule = Schedule{};
  for (std::int64_t i = 0; i < warm_up; ++i) schedule.push_back({kForward, 0, i});
  for (auto i = warm_up; i < micro_batches; ++i) {
    schedule.push_back({kForward, 0, i});
    schedule.push_back({kBackward, 0, i - warm_up});
  }
  for (auto i = micro_batches - warm_up; i < micro_batches; ++i) schedule.push_back({kBackward, 0, i});
  return schedule;
}

}  // namespace twinstep::strategies
