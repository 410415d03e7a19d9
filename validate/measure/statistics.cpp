#include "validate/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/check.hpp"

namespace twinstep::measure {
namespace {

constexpr std::size_t kFewest = 6;  // 2 · 0.5^6 < 5 %: the least and the greatest of six enclose the median

double ratio(Duration part, Duration whole) {
  return static_cast<double>(part.count()) / static_cast<double>(std::max<std::int64_t>(whole.count(), 1));
}

Duration median_of(std::span<Duration const> samples) {
  auto sorted = std::vector<Duration>{samples.begin(), samples.end()};
  std::ranges::sort(sorted);
  return percentile(sorted, 0.5);
}

double drift_of(std::span<Duration const> samples) {
  auto const third = samples.size() / 3;
  auto const first = median_of(samples.first(third));
  return ratio(median_of(samples.last(third)) - first, first);
}

}  // namespace

Duration percentile(std::span<Duration const> sorted, double share) {
  TWINSTEP_CHECK(!sorted.empty(), "a percentile needs a sample");
  auto const place = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(place);
  auto const above = std::min(below + 1, sorted.size() - 1);
  auto const gap = static_cast<double>((sorted[above] - sorted[below]).count());
  return sorted[below] + Duration{std::llround((place - static_cast<double>(below)) * gap)};
}

std::size_t median_interval_rank(std::size_t samples) {
  constexpr auto kTail = 0.025;
  if (samples < kFewest) return 0;
  // probability = P(Binomial(n, 1/2) = j), from one j to the next; cumulated in `below` = P(Binomial < j + 1).
  auto const n = static_cast<double>(samples);
  auto logarithm = -n * std::log(2.0);
  auto below = std::exp(logarithm);
  auto rank = std::size_t{0};
  while (below <= kTail) {
    ++rank;
    auto const j = static_cast<double>(rank);
    logarithm += std::log((n - j + 1) / j);
    below += std::exp(logarithm);
  }
  return rank;
}

Spread spread_of(std::span<Duration const> samples) {
  auto sorted = std::vector<Duration>{samples.begin(), samples.end()};
  std::ranges::sort(sorted);
  auto spread = Spread{.median = percentile(sorted, 0.5),
                       .low = percentile(sorted, 0.1),
                       .high = percentile(sorted, 0.9),
                       .samples = samples.size(),
                       .precision = {},
                       .drift = {}};
  if (auto const rank = median_interval_rank(samples.size()); rank > 0) {
    spread.precision = ratio(sorted[samples.size() - rank] - sorted[rank - 1], spread.median) / 2;
    spread.drift = drift_of(samples);
  }
  return spread;
}

}  // namespace twinstep::measure
