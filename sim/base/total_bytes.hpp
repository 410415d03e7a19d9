#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

#include "sim/base/units.hpp"

namespace twinstep {

/// Bytes of all ranks of a job together. What one rank moves in a step fits into 63 bits; what 16,384 of them move in
/// 512 micro-batches of a large model does not.
class TotalBytes {
 public:
  __extension__ using Count = __int128;

  constexpr TotalBytes() = default;
  constexpr TotalBytes(Bytes bytes) : count_{bytes.count()} {}  // NOLINT: some bytes are a total

  /// So many, to the precision of a double. Requires bytes >= 0 and below 2^127.
  [[nodiscard]] static constexpr TotalBytes about(double bytes) {
    auto total = TotalBytes{};
    total.count_ = static_cast<Count>(bytes);
    return total;
  }

  [[nodiscard]] constexpr Count count() const { return count_; }
  /// The same as whole bytes of 63 bits; nothing if there are more.
  [[nodiscard]] constexpr std::optional<Bytes> bytes() const {
    if (count_ > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return Bytes{static_cast<std::int64_t>(count_)};
  }

  constexpr auto operator<=>(TotalBytes const&) const = default;
  constexpr TotalBytes& operator+=(TotalBytes other) {
    count_ += other.count_;
    return *this;
  }
  friend constexpr TotalBytes operator*(TotalBytes total, std::int64_t times) {
    total.count_ *= times;
    return total;
  }

 private:
  Count count_ = 0;
};

}  // namespace twinstep
