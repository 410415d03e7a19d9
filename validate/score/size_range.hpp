#pragma once

#include <cstdint>

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

namespace twinstep::validate {

/// Ranges of message sizes in which different terms of the cost decide.
enum class SizeRange : std::uint8_t { kSmall, kMedium, kLarge, kHuge };

/// Up to 64 KiB latency decides, from 1 MiB on bandwidth begins to, from 256 MiB on nothing else does.
[[nodiscard]] constexpr SizeRange range_of(Bytes size) {
  using namespace literals;
  if (size <= 64_KiB) return SizeRange::kSmall;
  if (size < 1_MiB) return SizeRange::kMedium;
  return size < 256_MiB ? SizeRange::kLarge : SizeRange::kHuge;
}

}  // namespace twinstep::validate
