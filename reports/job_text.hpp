#pragma once

#include <cstdint>
#include <string>

#include "reports/job.hpp"

/// Amounts of a whole job as people read them: days, money, energy.
namespace twinstep::reports {

/// "12.3 days late, 1.2 M USD over"; empty where nothing is missed.
[[nodiscard]] std::string misses_text(Misses const& misses);
/// "12.3 MWh", "4.10 GWh"; below a MWh three digits: "512 kWh", "3.4 Wh".
[[nodiscard]] std::string energy_text(double kwh);
/// "12.4 days", "3.1 hours", "12.0 min"; below a minute as time_text has it, and nothing below zero.
[[nodiscard]] std::string long_time_text(Seconds time);
/// "12,345" as count_text has it; below one two digits: "0.012".
[[nodiscard]] std::string gpu_hours_text(double hours);
/// Three digits and a suffix: "8.39 M".
[[nodiscard]] std::string rounded(double amount);
/// "1 GPU", "1,024 GPUs".
[[nodiscard]] std::string gpus_text(std::int64_t count);
/// "1.93 M USD".
[[nodiscard]] std::string money_text(Money const& money);

}  // namespace twinstep::reports
