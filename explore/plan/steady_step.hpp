#pragma once

#include <cstdint>
#include <optional>

#include "explore/ask/scenario.hpp"
#include "reports/summary.hpp"

namespace twinstep::explore::plan {

/// Micro-batches of the longest step that is simulated whole.
inline constexpr std::int64_t kLongestWhole = 4;

/// Simulates the step of `scenario`, folded and with the memory ledger. Nothing if its plan cannot be laid
/// out.
///
/// A step of more than kLongestWhole micro-batches is simulated twice, with a few of them: what one more adds there,
/// each further one adds too, and memory peaks within the first ones, but for the inputs of those behind. Of one that
/// does not fit only memory is told.
/// tests/unit/plan_search_test.cpp holds the step time so found within 0.2 % of the whole step's. Cost: that of five
/// micro-batches at most in place of any number.
[[nodiscard]] std::optional<reports::Summary> simulate_steadily(Scenario scenario);

}  // namespace twinstep::explore::plan
