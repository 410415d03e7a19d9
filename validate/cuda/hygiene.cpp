#include "validate/cuda/hygiene.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace twinstep::cuda {

std::vector<HealthReading> read_health(DeviceApi& device, Ranks const& ranks) {
  auto readings = std::vector<HealthReading>{};
  for (int local = 0; local < ranks.local_ranks; ++local)
    if (auto const health = device.health(ranks.device_of(local)))
      readings.push_back({ranks.device_of(local), *health});
  return readings;
}

std::vector<HealthReading> worst_of(std::vector<HealthReading> before, std::vector<HealthReading> const& after) {
  for (auto const& [device, now] : after) {
    auto const earlier = std::ranges::find(before, device, &HealthReading::device);
    if (earlier == before.end()) {
      before.push_back({device, now});
      continue;
    }
    auto& health = earlier->health;
    health.multiprocessor_clock_mhz = std::min(health.multiprocessor_clock_mhz, now.multiprocessor_clock_mhz);
    for (auto const& reason : now.throttled_by)
      if (std::ranges::find(health.throttled_by, reason) == health.throttled_by.end())
        health.throttled_by.push_back(reason);
  }
  return before;
}

std::vector<std::string> find_doubts(std::vector<HealthReading> const& before,
                                     std::vector<HealthReading> const& after) {
  auto doubts = std::vector<std::string>{};
  constexpr double kLeastShare = 0.95;
  for (auto const& [device, worst] : worst_of(before, after)) {
    if (!worst.throttled_by.empty())
      doubts.push_back(fmt::format("GPU {} was held back by {}", device, fmt::join(worst.throttled_by, ", ")));
    auto const earlier = std::ranges::find(before, device, &HealthReading::device);
    auto const was = earlier == before.end() ? worst : earlier->health;
    if (static_cast<double>(worst.multiprocessor_clock_mhz) <
        kLeastShare * static_cast<double>(was.multiprocessor_clock_mhz))
      doubts.push_back(fmt::format("the clock of GPU {} fell from {} to {} MHz", device, was.multiprocessor_clock_mhz,
                                   worst.multiprocessor_clock_mhz));
  }
  return doubts;
}

}  // namespace twinstep::cuda
