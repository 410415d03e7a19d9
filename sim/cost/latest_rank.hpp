#pragma once

#include <cstdint>

#include "sim/hardware/cluster.hpp"

namespace twinstep::cost {

/// How far the slowest of `ranks` is expected behind the mean, in standard deviations, if their times are spread
/// normally: the quantile at (ranks - 0.375) / (ranks + 0.25) (Blom, Statistical Estimates and Transformed
/// Beta-Variables, 1958). 0 for one rank, 1.43 for 8 (exactly 1.424), 2.59 for 128, 4.0 for 16,384.
[[nodiscard]] double expected_latest(std::int64_t ranks);

/// How many times as long kernels of `ranks` take as in one node alone: each rank waits for the latest of all, and GPUs
/// of one kind differ, as their chips and clocks do (Stack::rank_spread). Efficiencies of the profiles come from whole
/// nodes, so one node's own latest rank is in them already. 1 within one node; in every step the whole wait is exposed.
[[nodiscard]] double wait_for_latest(hardware::Cluster const& cluster, std::int64_t ranks);

}  // namespace twinstep::cost
