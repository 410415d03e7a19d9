#pragma once

#include <cstdint>

#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"

namespace twinstep::program {

/// What nccl-tests multiplies a collective's size over time with, so that the result is the rate of the slowest link of
/// a ring: 2(n-1)/n for all_reduce, (n-1)/n where each rank keeps its own part, 1 for one root. 0 for one rank, except
/// where the factor is 1. Source: nccl-tests, doc/PERFORMANCE.md.
[[nodiscard]] constexpr double bus_factor(CollectiveKind kind, std::int64_t rank_count) {
  auto const kept_by_others = static_cast<double>(rank_count - 1) / static_cast<double>(rank_count);
  switch (kind) {
    case CollectiveKind::kAllReduce: return 2 * kept_by_others;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kAllToAll: return kept_by_others;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce: return 1;
  }
  return 0;
}

/// nccl-tests' "algbw" and "busbw" of a collective. Requires time > 0.
struct CollectiveRates {
  BytesPerSecond algorithm;
  BytesPerSecond bus;
};
[[nodiscard]] constexpr CollectiveRates collective_rates(CollectiveKind kind, std::int64_t rank_count, Bytes size,
                                                         Duration time) {
  auto const algorithm = BytesPerSecond{static_cast<double>(size.count()) / to_seconds(time).count()};
  return {algorithm, algorithm * bus_factor(kind, rank_count)};
}

}  // namespace twinstep::program
