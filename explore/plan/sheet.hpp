#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/base/units.hpp"
#include "sim/program/kinds.hpp"

/// What one rank does in a step, added up: the terms of the closed form.
namespace twinstep::explore::plan {

using program::Pass;

/// What a pass is busy with. All are seconds.
enum class Part : std::uint8_t {
  kCompute,  ///< kernels on the compute stream
  kExposed,  ///< what kernels cannot hide: communication and copies on their stream, or before or after all of them
  kInside,   ///< communication beside kernels that stays in nodes
  kBetween,  ///< … that leaves them
  kCopies,   ///< copies to and from host memory beside kernels
  kHost,     ///< the host's own time to launch all that
  kRead,     ///< of an update, from drives
  kWritten   ///< … to them
};

/// Seconds by pass and part. A sheet is linear in the model's layers and in micro-batches as far as the step is, so
/// sheets are added and scaled like numbers.
class Sheet {
 public:
  [[nodiscard]] double& at(Pass pass, Part part) { return seconds_[index(pass, part)]; }
  [[nodiscard]] double at(Pass pass, Part part) const { return seconds_[index(pass, part)]; }

  friend Sheet operator+(Sheet a, Sheet const& b) {
    for (std::size_t i = 0; i < kCells; ++i) a.seconds_[i] += b.seconds_[i];
    return a;
  }
  friend Sheet operator-(Sheet a, Sheet const& b) {
    for (std::size_t i = 0; i < kCells; ++i) a.seconds_[i] -= b.seconds_[i];
    return a;
  }
  friend Sheet operator*(Sheet a, double factor) {
    for (auto& each : a.seconds_) each *= factor;
    return a;
  }
  /// With nothing below zero: what a difference of two schedules may leave.
  [[nodiscard]] Sheet clamped() const {
    auto out = *this;
    for (auto& each : out.seconds_) each = std::max(each, 0.0);
    return out;
  }

 private:
  static constexpr std::size_t kParts = 8;
  static constexpr std::size_t kCells = 3 * kParts;
  /// What goes back through the model is one row, and what is no pass belongs to the update.
  [[nodiscard]] static constexpr std::size_t index(Pass pass, Part part) {
    auto const row = pass == Pass::kForward ? std::size_t{0} : goes_back(pass) ? std::size_t{1} : std::size_t{2};
    return row * kParts + static_cast<std::size_t>(part);
  }
  std::array<double, kCells> seconds_{};
};

}  // namespace twinstep::explore::plan
