#pragma once

#include "explore/ask/answered.hpp"
#include "explore/ask/ask.hpp"

namespace twinstep::explore {

/// Says in the summary of a run that does not fit what would: of the plans that `plan` searches, and of the asked
/// strategy's own with its options, the nearest, which has the fewest changes; of these the fastest. If none fits, says
/// that. Cost: bounds of candidates, and the simulation of a few.
void add_way_out(Run& run, Scenario const& scenario);
/// The same for each step of a question, on all cores.
void add_ways_out(Answered& question);

}  // namespace twinstep::explore
