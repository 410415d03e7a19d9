#pragma once

#include <string>

#include "reports/compare.hpp"

namespace twinstep::reports {

/// One JSON document with everything in `comparison`: every matched operation, the largest difference first. Times are
/// in seconds; a ratio is b / a, null where a is zero.
[[nodiscard]] std::string compare_json(Comparison const& comparison);

}  // namespace twinstep::reports
