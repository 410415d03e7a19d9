#pragma once

#include <string>

#include "reports/job.hpp"

/// Amounts of a whole job as people read them: days, money, energy.
namespace twinstep::reports {

/// "12.3 days late, 1.2 M USD over"; empty where nothing is missed.
[[nodiscard]] std::string misses_text(Misses const& misses);
/// "12.3 MWh", "4.10 GWh".
[[nodiscard]] std::string energy_text(double kwh);
/// "12.4 days", "3.1 hours".
[[nodiscard]] std::string long_time_text(Seconds time);
/// Three digits and a suffix: "8.39 M".
[[nodiscard]] std::string rounded(double amount);
/// "1.93 M USD".
[[nodiscard]] std::string money_text(Money const& money);

}  // namespace twinstep::reports
