#pragma once

#include <cstdint>

#include "validate/measure/exchange.hpp"
#include "validate/measure/executor.hpp"

namespace twinstep::measure {

/// Runs one exchange on known values and counts the elements, over all ranks, that come out other than they must. Every
/// process of the job gets the count.
///
/// @param capacity  elements of the persistent buffers that it works in, at least those of the exchange: the largest of
///   a sweep, so that all sizes share them
/// Cost: the exchange, and a look at every element received.
[[nodiscard]] std::int64_t count_wrong(Executor& executor, Exchange const& exchange, std::int64_t capacity);

}  // namespace twinstep::measure
