#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::cpu {

/// What one rank did in a step. Its spans and samples do not know their track yet.
struct RankRecord {
  std::vector<timeline::Span> spans;  ///< by op
  /// In the order of time. A buffer counts from the issue of its first use to the return of the issue of its last, the
  /// moment at which a caching allocator could give it out again.
  std::vector<timeline::MemorySample> memory;
};

/// Puts the records of all ranks together, one track each. `how` says what was measured, for the manifest.
[[nodiscard]] timeline::Timeline timeline_of(program::StepProgram const& program, std::span<RankRecord const> records,
                                             timeline::WireBytes const& wire, std::string how);

}  // namespace twinstep::cpu
