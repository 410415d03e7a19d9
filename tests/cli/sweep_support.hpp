#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "explore/sweep/results.hpp"
#include "tests/cli/run_twinstep.hpp"

/// Sweeps for tests, and ways to run them that a person has beside the plain one.
namespace twinstep::tests {

/// A sweep over the small scenario; `parts` are its members beside "base".
[[nodiscard]] std::string small_sweep(std::string const& parts);

/// 72 points: some fit, some do not, some are infeasible, some wrong, some left out.
[[nodiscard]] std::string sweep_of_everything();

/// Runs a sweep into "results.sqlite" of the folder and reads it.
[[nodiscard]] explore::sweep::Results swept(Scratch const& folder, std::string const& sweep);

/// Starts twinstep and returns at once.
[[nodiscard]] pid_t start_twinstep(std::vector<std::string> const& arguments, std::string const& err);
/// Whether it has ended; it is still there to be waited for.
[[nodiscard]] bool is_over(pid_t process);
/// Waits for its end; the exit code as `Outcome` has it.
int wait_for(pid_t process);

}  // namespace twinstep::tests
