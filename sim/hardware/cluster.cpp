#include "sim/hardware/cluster.hpp"

#include <algorithm>

namespace twinstep::hardware {

std::optional<FlopsPerSecond> Gpu::peak(DataType type) const {
  auto const found = std::ranges::find(peaks, type, &Peak::type);
  if (found == peaks.end()) return std::nullopt;
  return found->rate.value;
}

Architecture Gpu::architecture() const {
  if (has_capability(100)) return Architecture::kBlackwell;
  if (has_capability(90)) return Architecture::kHopper;
  return has_capability(80) ? Architecture::kAmpere : Architecture::kVolta;
}

}  // namespace twinstep::hardware
