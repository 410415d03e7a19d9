#include <algorithm>

#include "strategies/mesh/schedule.hpp"

namespace twinstep::strategies {
namespace {

using enum ScheduledPass::Kind;

/// (chunk, micro-batch) in the order of forward, group by group.
std::vector<ScheduledPass> in_groups(std::int64_t chunks, std::int64_t group, std::int64_t micro_batches,
                                     ScheduledPass::Kind kind) {
  auto order = std::vector<ScheduledPass>{};
  for (std::int64_t first = 0; first < micro_batches; first += group)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
      for (auto i = first; i < std::min(first + group, micro_batches); ++i) {
        auto const place = kind == kForward ? chunk : chunks - 1 - chunk;
        order.push_back({kind, static_cast<std::size_t>(place), i});
      }
  return order;
}

}  // namespace

Schedule gpipe(std::int64_t micro_batches) {
  auto schedule = Schedule{};
  for (auto const kind : {kForward, kBackward})
    for (std::int64_t i = 0; i < micro_batches; ++i) schedule.push_back({kind, 0, i});
  return schedule;
}

Schedule one_forward_one_backward(std::int64_t stage, std::int64_t stages, std::int64_t micro_batches) {
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

Schedule interleaved(std::int64_t stage, std::int64_t stages, std::int64_t chunks, std::int64_t group,
                     std::int64_t micro_batches) {
  auto const forwards = in_groups(chunks, group, micro_batches, kForward);
  auto const backwards = in_groups(chunks, group, micro_batches, kBackward);
  auto const passes = chunks * micro_batches;
  auto const warm_up = std::min(2 * (stages - stage - 1) + (chunks - 1) * group, passes);
  auto schedule = Schedule(forwards.begin(), forwards.begin() + warm_up);
  for (auto i = warm_up; i < passes; ++i) {
    schedule.push_back(forwards[static_cast<std::size_t>(i)]);
    schedule.push_back(backwards[static_cast<std::size_t>(i - warm_up)]);
  }
  schedule.insert(schedule.end(), backwards.end() - warm_up, backwards.end());
  return schedule;
}

Schedule interleaved_zero_bubble(std::int64_t stage, std::int64_t stages, std::int64_t chunks, std::int64_t group,
                                 std::int64_t micro_batches) {
  auto const forwards = in_groups(chunks, group, micro_batches, kForward);
  auto const backwards = in_groups(chunks, group, micro_batches, kInputGradient);
  auto const passes = chunks * micro_batches;
  auto const warm_up = std::min((stages - stage - 1) + (chunks - 1) * group, passes);
  auto schedule = Schedule(forwards.begin(), forwards.begin() + warm_up);
  auto delayed = std::int64_t{0};  // weight gradients that have been written
  auto const add_weight_gradient = [&] {
    auto pass = backwards[static_cast<std::size_t>(delayed++)];
    pass.kind = kWeightGradient;
    schedule.push_back(pass);
  };
  for (std::int64_t i = 0; i < passes; ++i) {
    if (warm_up + i < passes) schedule.push_back(forwards[static_cast<std::size_t>(warm_up + i)]);
    schedule.push_back(backwards[static_cast<std::size_t>(i)]);
    if (i >= stage) add_weight_gradient();
  }
  while (delayed < passes) add_weight_gradient();
  return schedule;
}

}  // namespace twinstep::strategies
