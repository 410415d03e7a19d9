#pragma once

#include <chrono>

#include "sim/base/units.hpp"

namespace twinstep::cpu {

/// The moment from which a step counts. Set before any thread looks at the time.
struct StepClock {
  std::chrono::steady_clock::time_point begin;

  [[nodiscard]] Time now() const {
    auto const passed = std::chrono::steady_clock::now() - begin;
    return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count() * 1000};
  }
};

}  // namespace twinstep::cpu
