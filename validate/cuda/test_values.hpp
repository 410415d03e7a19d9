#pragma once

#include <cstddef>
#include <vector>

#include "sim/base/collective_kind.hpp"

namespace twinstep::cuda {

/// The values that ranks begin with and must end with. All are small whole numbers, so that fp32 sums of up to a
/// million ranks are exact in any order.
class TestValues {
 public:
  /// @param count  elements of a share, or of the buffer where there are none
  TestValues(CollectiveKind kind, int world, std::size_t count);

  /// Element `i` of what rank `rank` sends.
  [[nodiscard]] float sent(int rank, std::size_t i) const {
    return static_cast<float>((static_cast<std::size_t>(rank) * kStride + i) % kPeriod);
  }
  /// Element `i` of what rank `rank` has received in the end.
  [[nodiscard]] float received(int rank, std::size_t i) const;

  /// How many elements a rank sends and receives; 0 where it has no part (all but the root of a reduce receive none).
  [[nodiscard]] std::size_t sends(int rank) const;
  [[nodiscard]] std::size_t receives(int rank) const;

 private:
  static constexpr std::size_t kPeriod = 13;
  static constexpr std::size_t kStride = 5;

  CollectiveKind kind_;
  int world_;
  std::size_t count_;
  std::vector<float> sums_;  ///< over all ranks, of element i at i % kPeriod
};

}  // namespace twinstep::cuda
