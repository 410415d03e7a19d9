#include "reports/job_text.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace twinstep::reports {

std::string misses_text(Misses const& misses) {
  auto parts = std::vector<std::string>{};
  if (misses.late) parts.push_back(long_time_text(*misses.late) + " late");
  if (misses.over_budget) parts.push_back(money_text(*misses.over_budget) + " over");
  if (misses.over_energy_kwh) parts.push_back(energy_text(*misses.over_energy_kwh) + " over");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string energy_text(double kwh) {
  return kwh >= 1e6 ? fmt::format("{:.2f} GWh", kwh / 1e6) : fmt::format("{:.1f} MWh", kwh / 1e3);
}

std::string long_time_text(Seconds time) {
  auto const days = time.count() / 86'400;
  if (days >= 100) return fmt::format("{:.0f} days", days);
  if (days >= 1) return fmt::format("{:.1f} days", days);
  return fmt::format("{:.1f} hours", 24 * days);
}

std::string rounded(double amount) {
  for (auto const& [size, suffix] : {std::pair{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " K"}})
    if (amount >= size) return fmt::format("{:.3g}{}", amount / size, suffix);
  return fmt::format("{:.3g}", amount);
}

std::string money_text(Money const& money) {
  return rounded(money.amount) + " " + money.currency;
}

}  // namespace twinstep::reports
