#include "reports/job_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::reports {

std::string misses_text(Misses const& misses) {
  auto parts = std::vector<std::string>{};
  if (misses.late) parts.push_back(long_time_text(*misses.late) + " late");
  if (misses.over_budget) parts.push_back(money_text(*misses.over_budget) + " over");
  if (misses.over_energy_kwh) parts.push_back(energy_text(*misses.over_energy_kwh) + " over");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string energy_text(double kwh) {
  if (kwh >= 1e6) return fmt::format("{:.2f} GWh", kwh / 1e6);
  if (kwh >= 1e3) return fmt::format("{:.1f} MWh", kwh / 1e3);
  return kwh >= 1 ? fmt::format("{:.3g} kWh", kwh) : fmt::format("{:.3g} Wh", kwh * 1e3);
}

std::string long_time_text(Seconds time) {
  constexpr double kDay = 86'400;
  constexpr double kHour = 3600;
  constexpr double kMinute = 60;
  auto const seconds = time.count();
  if (seconds >= 100 * kDay) return fmt::format("{} days", count_text(seconds / kDay));
  if (seconds >= kDay) return fmt::format("{:.1f} days", seconds / kDay);
  if (seconds >= kHour) return fmt::format("{:.1f} hours", seconds / kHour);
  return seconds >= kMinute ? fmt::format("{:.1f} min", seconds / kMinute)
                            : time_text(to_duration(Seconds{std::max(seconds, 0.0)}));
}

std::string gpu_hours_text(double hours) {
  return hours < 1 ? fmt::format("{:.2g}", hours) : count_text(hours);
}

std::string rounded(double amount) {
  for (auto const& [size, suffix] : {std::pair{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " K"}})
    if (amount >= size) return fmt::format("{:.3g}{}", amount / size, suffix);
  return fmt::format("{:.3g}", amount);
}

std::string gpus_text(std::int64_t count) {
  return fmt::format("{} GPU{}", whole_text(count), count == 1 ? "" : "s");
}

std::string money_text(Money const& money) {
  return rounded(money.amount) + " " + money.currency;
}

}  // namespace twinstep::reports
