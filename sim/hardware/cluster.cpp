#include "sim/hardware/cluster.hpp"

#include <algorithm>

namespace twinstep::hardware {

std::optional<FlopsPerSecond> Gpu::peak(DataType type) const {
  auto const found = std::ranges::find(peaks, type, &Peak::type);
  if (found == peaks.end()) return std::nullopt;
  return found->rate.value;
}

}  // namespace twinstep::hardware
