#pragma once

#include "explore/ask/answered.hpp"
#include "explore/ask/ask.hpp"

namespace twinstep::explore {

/// Says in the summary of a run that does not fit what would: the least change of its plan that makes it fit, or that
/// none does. Simulates the candidates one after another, but those that a bound rules out.
void add_way_out(Run& run, Scenario const& scenario);
/// The same for each step of a question, on all cores.
void add_ways_out(Answered& question);

}  // namespace twinstep::explore
