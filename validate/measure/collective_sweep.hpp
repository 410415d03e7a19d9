#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "validate/measure/exchange.hpp"
#include "validate/measure/executor.hpp"
#include "validate/measure/sampling.hpp"

namespace twinstep::measure {

/// A sweep over sizes as nccl-tests makes it.
struct CollectiveSweep {
  Exchange exchange;  ///< whatever its elements
  Bytes smallest{8};
  Bytes largest{128 << 20};
  std::int64_t factor = 2;  ///< at least 2
  Sampling sampling;
};

/// What one call takes, and whether its result is right.
struct SweepHalf {
  Spread time;
  std::int64_t wrong = 0;  ///< elements of all ranks
};

struct SweepRow {
  Bytes size;              ///< the large side, cut to what the ranks can share
  std::int64_t count = 0;  ///< elements that nccl-tests would print: of a share, where there are shares
  SweepHalf out_of_place;
  std::optional<SweepHalf> in_place;  ///< nothing for all_to_all, and for send and receive
};

/// Measures each size and hands it over, in the first process. Shares are multiples of 16 bytes, as nccl-tests makes
/// them; sizes too small for that are left out. Every process of the job calls it.
void sweep_collective(Executor& executor, CollectiveSweep const& sweep,
                      std::function<void(SweepRow const&)> const& take);

/// The elements of the large side for `size`; 0 if it is too small to be shared.
[[nodiscard]] std::int64_t elements_for(Bytes size, Exchange const& exchange, std::int64_t ranks);

/// One workload alone, and beside another.
struct Beside {
  Spread alone;
  Spread together;
  [[nodiscard]] double slowdown() const {
    return static_cast<double>(together.median.count()) /
           static_cast<double>(std::max<std::int64_t>(alone.median.count(), 1));
  }
};
/// Each of two workloads alone, then both at once on streams and communicators of their own.
[[nodiscard]] std::array<Beside, 2> measure_beside(Executor& executor, Workload const& a, Workload const& b,
                                                   Sampling const& sampling);

/// The same of two exchanges, for each size of `sweep`, which has the first one. Nothing is verified.
void sweep_beside(Executor& executor, CollectiveSweep const& sweep, Exchange const& other,
                  std::function<void(Bytes size, std::array<Beside, 2> const&)> const& take);

/// Runs one exchange on known values and counts the elements, over all ranks, that come out other than they must. Every
/// process of the job gets the count.
///
/// @param capacity  elements of the persistent buffers that it works in, at least those of the exchange: the largest of
///   a sweep, so that all sizes share them
/// Cost: the exchange, and a look at every element received.
[[nodiscard]] std::int64_t count_wrong(Executor& executor, Exchange const& exchange, std::int64_t capacity);

}  // namespace twinstep::measure
