#pragma once

#include <optional>

#include "explore/ask/answered.hpp"
#include "reports/why.hpp"

namespace twinstep::explore {

/// The step time with communication free. Requires a plan that can be laid out.
[[nodiscard]] Duration time_without_communication(Scenario scenario);

/// Simulates scenario `place` of a question that ran once more with communication free, and with each of a list of
/// single changes: other strategies, recomputation, micro-batches, kernels, faster NICs. What is printed makes exactly
/// what was simulated; a change that the readers refuse is not offered. Nothing where the scenario cannot be laid out.
/// Costs some twenty simulations.
[[nodiscard]] std::optional<reports::Why> explain(Answered const& question, std::size_t place);

}  // namespace twinstep::explore
