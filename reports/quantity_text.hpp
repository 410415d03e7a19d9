#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/total_bytes.hpp"
#include "sim/base/units.hpp"

/// Quantities as people read them, always with their unit. Memory is binary (GiB), traffic and rates are decimal (GB).
namespace twinstep::reports {

/// Stands where there is no value.
inline constexpr std::string_view kNoValue = "–";

/// Four digits: "12.41 ms", "1.234 s", "691.5 us", "850.0 ns"; picoseconds, and seconds from 1000 on, are whole.
[[nodiscard]] std::string time_text(Duration time);

/// One decimal: "91.2 GiB", "512.0 MiB", "100 B".
[[nodiscard]] std::string memory_text(Bytes bytes);

/// One decimal: "14.2 GB", "512.0 MB", "100 B".
[[nodiscard]] std::string traffic_text(TotalBytes bytes);

/// One decimal: "450.0 GB/s".
[[nodiscard]] std::string rate_text(BytesPerSecond rate);

/// One decimal: "412.3 TFLOP/s".
[[nodiscard]] std::string rate_text(FlopsPerSecond rate);

/// A time as a share of another: 0 where that is nothing.
[[nodiscard]] double share(Duration part, Duration whole);
/// A share of one, as "48.3 %".
[[nodiscard]] std::string percent_text(double share);
[[nodiscard]] std::string percent_text(std::optional<double> share);

/// The same with its sign, as of a change: "+1.2 %", "-0.3 %"; "0.0 %" has none.
[[nodiscard]] std::string change_text(double share);

/// "12,345"; one decimal below 100: "12.3".
[[nodiscard]] std::string count_text(double count);
/// The same of what is always whole: "12,345", "12".
[[nodiscard]] std::string whole_text(std::int64_t count);

/// A unit that the column of a table states once.
struct MemoryUnit {
  std::string_view name;
  Bytes size;
};

/// The unit in which `largest` has one to four digits before the point.
[[nodiscard]] MemoryUnit memory_unit_for(Bytes largest);

/// `bytes` in `unit` with one decimal, without the unit.
[[nodiscard]] std::string in_unit(Bytes bytes, MemoryUnit unit);

/// A bar that is `share` of `width` cells long; at least a sliver where the share is above zero.
[[nodiscard]] std::string bar_text(double share, std::size_t width);

}  // namespace twinstep::reports
