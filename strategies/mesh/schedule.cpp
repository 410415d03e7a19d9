#include "strategies/mesh/schedule.hpp"

#include <algorithm>
#include <tuple>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

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

std::int64_t part_at(Pipeline const& pipeline, std::int64_t stage, std::int64_t chunk) {
  auto const goes_back = is_v_shaped(pipeline.schedule) && chunk == 1;
  return chunk * pipeline.stages + (goes_back ? pipeline.stages - 1 - stage : stage);
}

PartPlace place_of(Pipeline const& pipeline, std::int64_t part) {
  auto const chunk = part / pipeline.stages;
  auto const goes_back = is_v_shaped(pipeline.schedule) && chunk == 1;
  auto const stage = part % pipeline.stages;
  return {goes_back ? pipeline.stages - 1 - stage : stage, chunk};
}

Schedule schedule_of(Pipeline const& pipeline, std::int64_t stage, std::int64_t micro_batches) {
  using enum PipelineSchedule;
  auto const& [stages, chunks] = std::tie(pipeline.stages, pipeline.chunks);
  auto const rounds = std::max(std::int64_t{1}, micro_batches / stages);
  auto const group = pipeline.group > 0 ? pipeline.group : divide_up(micro_batches, rounds);
  switch (pipeline.schedule) {
    case kGpipe: return gpipe(micro_batches);
    case kOneForwardOneBackward: return one_forward_one_backward(stage, stages, micro_batches);
    case kInterleaved: return interleaved(stage, stages, chunks, group, micro_batches);
    case kInterleavedZeroBubble: return interleaved_zero_bubble(stage, stages, chunks, group, micro_batches);
    case kZeroBubbleV: return zero_bubble_v(stage, stages, micro_batches);
    case kDualPipeV: return dual_pipe_v(stage, stages, micro_batches);
  }
  TWINSTEP_UNREACHABLE("every schedule has its function");
}

}  // namespace twinstep::strategies
