#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/records/collective_record.hpp"

/// The parts of `check_records` that look at bandwidths. Each adds sentences without the id of the record.
namespace twinstep::validate {

/// What nccl-tests multiplies algbw with (program::bus_factor; 1 for send and receive).
[[nodiscard]] double bus_factor(MeasuredKind kind, std::int64_t ranks);

/// What the last printed digit of a bandwidth leaves open: nccl-tests prints six characters, hundredths of a GB/s up to
/// 1000 and tenths above (src/util.cu, getFloatStr).
[[nodiscard]] BytesPerSecond rounding(BytesPerSecond rate);

/// Size over time.
[[nodiscard]] BytesPerSecond rate_of(MeasuredPoint const& point);

/// The highest bus bandwidth of the points from `least` on, by their times; nothing without such points.
[[nodiscard]] std::optional<BytesPerSecond> best_bus_bandwidth(CollectiveRecord const& record, Bytes least);

/// algbw against size over time.
void check_units(CollectiveRecord const& record, std::vector<std::string>& found);
/// busbw over algbw against the number of ranks.
void check_ranks(CollectiveRecord const& record, std::vector<std::string>& found);
/// busbw against the links of the machine.
void check_links(CollectiveRecord const& record, hardware::Cluster const& machine, std::vector<std::string>& found);

/// "4 MiB", "1000 B": four digits at most.
[[nodiscard]] std::string size_text(Bytes size);

}  // namespace twinstep::validate
