#pragma once

#include <optional>
#include <string>

#include "sim/io/json_writer.hpp"
#include "validate/measure/kernels.hpp"

/// Measured kernels and copies as lines of a table and as records.
namespace twinstep::app {

/// What is in a table or a record.
struct KernelLine {
  measure::KernelPoint point;
  bool is_launch = false;             ///< the host's time counts
  std::optional<std::string> beside;  ///< the collective at the same time
};

/// That are enqueued at once where the host's time counts.
inline constexpr std::int64_t kLaunches = 1000;

inline constexpr auto kKernelHeader =
    "operation                                          median   10th pct   90th pct             rate\n";

[[nodiscard]] std::string table_line(KernelLine const& line);

/// The members of its own record, as validate::read_kernel_records takes them.
void write_line(io::JsonWriter& json, KernelLine const& line);

}  // namespace twinstep::app
