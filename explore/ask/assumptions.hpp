#pragma once

#include <cstddef>
#include <vector>

#include "explore/ask/answered.hpp"
#include "reports/why.hpp"

namespace twinstep::explore {

/// What the scenario at `place`, which has run, leaves open, and what that is worth: each assumption that moves
/// throughput by more than 3 % where it is reversed, the strongest first. Reversed are the attention kernel, the
/// software stack, what accumulation communicates, PCIe's width, the sequence and the micro-batch, where the scenario
/// says nothing of them. Cost: a variation each, without the allocator, in all about the time of the step's own answer.
[[nodiscard]] std::vector<reports::Assumption> assumptions_of(Answered const& question, std::size_t place);

}  // namespace twinstep::explore
