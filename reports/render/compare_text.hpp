#pragma once

#include <string>

#include "reports/compare.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// A comparison for people: the step, time by kind of work, memory at the peak, the operations that differ most, and
/// those that only one side has.
[[nodiscard]] std::string compare_text(Comparison const& comparison, TextStyle const& style = {});

}  // namespace twinstep::reports
