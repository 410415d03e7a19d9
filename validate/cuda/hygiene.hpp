#pragma once

#include <string>
#include <vector>

#include "validate/cuda/connection.hpp"
#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// The health of every local device; those that do not tell are left out.
struct HealthReading {
  int device = 0;
  DeviceHealth health;
};
[[nodiscard]] std::vector<HealthReading> read_health(DeviceApi& device, Ranks const& ranks);

/// The same devices at their worst in either reading: what held them back in both, and the lower clock.
[[nodiscard]] std::vector<HealthReading> worst_of(std::vector<HealthReading> before,
                                                  std::vector<HealthReading> const& after);

/// What makes a measurement between two readings doubtful, a sentence each: a device that was throttled in either, or
/// whose multiprocessor clock fell by more than a twentieth.
[[nodiscard]] std::vector<std::string> find_doubts(std::vector<HealthReading> const& before,
                                                   std::vector<HealthReading> const& after);

}  // namespace twinstep::cuda
