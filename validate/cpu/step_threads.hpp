#pragma once

#include <functional>
#include <list>
#include <vector>

#include "validate/cpu/rank_run.hpp"

namespace twinstep::cpu {

/// How many threads `rank` takes: its host and its streams.
[[nodiscard]] std::size_t threads_of(program::StepProgram const& program, RankId rank);

/// Runs all threads of `ranks` to their end. They begin when `begin`, which sets the step's clock, has returned.
/// The first error, of a thread or of `begin`, ends the others and is thrown here; `on_error` is told before they have
/// ended, so that it can end what they wait for.
void run_threads(Board& board, std::list<RankRun>& ranks, std::function<void()> const& begin,
                 std::function<void()> const& on_error = {});

}  // namespace twinstep::cpu
