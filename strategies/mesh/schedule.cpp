#include "strategies/mesh/schedule.hpp"

#include <algorithm>

namespace twinstep::strategies {

Schedule one_after_another(std::int64_t micro_batches) {
  using enum ScheduledPass::Kind;
  auto schedule = Schedule{};
  schedule.reserve(2 * static_cast<std::size_t>(micro_batches));
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    schedule.push_back({kForward, 0, i});
    schedule.push_back({kBackward, 0, i});
  }
  return schedule;
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
