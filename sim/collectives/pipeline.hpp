#pragma once

#include <cstdint>
#include <span>

#include "sim/base/units.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/collectives/timing.hpp"

/// Pipelines: the steps of a schedule are stages through which the pieces of the buffer follow one another. In step t
/// stage k handles piece t - k, so from step `stages` on all stages work at once.
namespace twinstep::collectives {

/// `base` done for each of `pieces` pieces, one step apart. Pieces are runs of the buffer; where chunks belong to ranks
/// (all_gather, reduce_scatter, gather, scatter) a piece is a part of every rank's chunk. Requires pieces >= 1, a base
/// that is no pipeline itself, and where chunks belong to ranks, messages of one chunk; not for all_to_all.
[[nodiscard]] Schedule pipelined(Schedule const& base, std::int64_t pieces);

/// What one stage moves of one piece: seconds on each of its links at the rank that is busiest in it.
struct StageLoad {
  double port_out = 0;
  double port_in = 0;
  double nic_out = 0;
  double nic_in = 0;
};

/// What filling and draining a pipeline takes beyond what its bytes need: the sum over all its steps of the busiest
/// link's load from the stages that are at work, less that of `pieces` steps with all stages at work. Cost O(stages
/// squared), whatever the pieces.
[[nodiscard]] Duration fill_time(std::span<StageLoad const> stages, std::int64_t pieces);

/// The steps of a pipeline: the first one of each stage waits as the first piece does; once the pipe is full nothing
/// waits. `first_piece` is what the steps of the base wait.
[[nodiscard]] Timing pipelined_timing(Timing first_piece, std::int64_t pieces);

}  // namespace twinstep::collectives
