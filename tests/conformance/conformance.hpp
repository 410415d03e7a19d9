#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::tests {

/// An executor with its environment already chosen. It is called with meshes of up to 4 ranks.
using Executor = std::function<timeline::Timeline(program::StepProgram const&)>;

struct ConformanceCase {
  std::string name;
  program::StepProgram program;
};

/// The programs that every executor must run as they are meant.
[[nodiscard]] std::vector<ConformanceCase> conformance_cases();

/// The programs that never end: an executor must say so, and who waits.
struct StuckCase {
  std::string name;
  program::StepProgram program;
  std::vector<std::string> words;  ///< that the message contains
};
[[nodiscard]] std::vector<StuckCase> stuck_cases();

/// Holds `executor` to the meaning of programs, with a section for every case. Call it inside a test case:
///
///     TEST_CASE("the virtual executor obeys the meaning of programs", "[conformance]") {
///       check_conformance([&](auto const& program) { return engine::run(program, machine); });
///     }
void check_conformance(Executor const& executor);

}  // namespace twinstep::tests
