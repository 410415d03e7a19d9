#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "validate/records/kineto_trace.hpp"

namespace twinstep::records {

/// How long a step took on each rank, by the host's clock.
struct KinetoStepTimes {
  std::int64_t number = 0;
  Duration shortest, longest;
};

/// The steps that all traces have, in their order; empty where they name none.
[[nodiscard]] std::vector<KinetoStepTimes> steps_of(std::vector<KinetoTrace> const& traces);

/// One training step of one or more ranks, on the clock of their hosts.
///
/// A track is a rank: its GPU's streams by their numbers, then the host's threads with their outermost operators. A
/// kernel belongs to the step in which the host launched it (by "correlation"), and its `issue` is that launch. The
/// step begins where the host begins it or where the GPU ends the step before, whichever is later: the host may run
/// ahead. NCCL's kernels are communications, with the large side of their message; a real clock cannot see when all
/// ranks had come, so `arrive` and `start` are both the kernel's start.
///
/// @param number  which ProfilerStep#; without, the one of median length. Traces without steps are one step each.
/// Throws InputError for a step that not all traces have, for two traces of one rank, and for traces that lie more than
/// 106 days apart. Not known, and 0: tokens, FLOPs, peak rates, links and bytes on the wire.
[[nodiscard]] timeline::Timeline kineto_timeline(std::vector<KinetoTrace> const& traces,
                                                 std::optional<std::int64_t> number = {});

}  // namespace twinstep::records
