#include "reports/goodput.hpp"

#include <cmath>

#include "sim/base/check.hpp"

namespace twinstep::reports {

Seconds young_interval(Failures const& failures) {
  return Seconds{std::sqrt(2 * failures.checkpoint.count() * failures.between_failures.count())};
}

Seconds daly_interval(Failures const& failures) {
  auto const ratio = failures.checkpoint.count() / (2 * failures.between_failures.count());
  if (ratio >= 1) return failures.between_failures;
  return young_interval(failures) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - failures.checkpoint;
}

double goodput(Failures const& failures, Seconds interval) {
  TWINSTEP_CHECK(interval > Seconds{}, "work needs time between checkpoints");
  auto const mean = failures.between_failures.count();
  auto const attempt = std::expm1((interval + failures.checkpoint).count() / mean);
  return interval.count() / (mean * std::exp(failures.restart.count() / mean) * attempt);
}

}  // namespace twinstep::reports
