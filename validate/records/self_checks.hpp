#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/records/collective_record.hpp"

namespace twinstep::validate {

/// The machine of a record, if it is known.
using MachineOf = std::function<std::optional<hardware::Cluster>(CollectiveRecord const&)>;

/// What is odd about measurements, as practitioners look at them before they believe them. Each sentence begins with
/// the id of its record, gives the numbers, and ends with what to do. Nothing is said of sound records. Looked at are
///   - the machine: another library or another model of GPU than `machine_of` says;
///   - sizes: listed twice, or beginning anew in the middle (two logs in one);
///   - times: that fall while sizes grow, that do not grow at all, a first one that lacks its warm-up, and
///     in place far from out of place;
///   - bandwidths: algbw that is not size over time (a unit, a share instead of the whole), busbw over algbw, which
///     betrays the true number of ranks, and busbw above what the links of the machine carry or far below it;
///   - all_reduce, reduce_scatter and all_gather of one system on as many ranks, whose bus bandwidths at large sizes
///     should agree.
/// Points that a record calls outliers are left out. Without `machine_of` neither the machine nor its links are looked
/// at. Cost: linear in the points.
[[nodiscard]] std::vector<std::string> check_records(std::vector<CollectiveRecord> const& records,
                                                     MachineOf const& machine_of = {});

/// The ranks that busbw / algbw fits, by the factor of nccl-tests (doc/PERFORMANCE.md): 2(n-1)/n or (n-1)/n.
struct RankRange {
  std::int64_t least = 1;
  std::optional<std::int64_t> most;  ///< nothing where the digits do not tell
  [[nodiscard]] bool holds(std::int64_t ranks) const { return ranks >= least && (!most || ranks <= *most); }
};

/// By the two bandwidths of all points, as far as their digits tell; nothing for a kind whose factor is 1 and for a
/// record without bandwidths, and an empty range (`most` below `least`) where points contradict each other.
[[nodiscard]] std::optional<RankRange> ranks_by_bandwidths(CollectiveRecord const& record);

}  // namespace twinstep::validate
