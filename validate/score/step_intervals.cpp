#include "validate/score/step_intervals.hpp"

#include <algorithm>
#include <cmath>

#include "validate/score/averages.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kLeast = std::size_t{10};
constexpr auto kTail = 0.05;

double factor_of(ScoredStep const& row) {
  return row.measurement->value / *row.predicted;
}

/// The factors of all scored rows of the family but `row`.
std::vector<double> factors_beside(ScoredStep const& row, std::vector<ScoredStep> const& rows, bool of_same_gpu) {
  auto factors = std::vector<double>{};
  for (auto const& other : rows) {
    if (&other == &row || !other.is_scored || other.family != row.family) continue;
    if (of_same_gpu && other.answer.gpu != row.answer.gpu) continue;
    factors.push_back(factor_of(other));
  }
  return factors;
}

}  // namespace

std::optional<FactorBand> band_of(std::vector<double> factors) {
  if (factors.size() < kLeast) return std::nullopt;
  std::ranges::sort(factors);
  auto const places = static_cast<double>(factors.size() + 1);
  auto const below = std::max(1.0, std::floor(places * kTail));
  auto const above = std::min(static_cast<double>(factors.size()), std::ceil(places * (1 - kTail)));
  return FactorBand{factors[static_cast<std::size_t>(below) - 1], factors[static_cast<std::size_t>(above) - 1]};
}

void set_intervals(std::vector<ScoredStep>& rows) {
  for (auto& row : rows) {
    if (!row.predicted) continue;
    auto band = band_of(factors_beside(row, rows, true));
    if (!band) band = band_of(factors_beside(row, rows, false));
    if (!band) continue;
    row.low = *row.predicted * band->low;
    row.high = *row.predicted * band->high;
  }
}

std::optional<IntervalQuality> quality_of(std::vector<ScoredStep> const& rows) {
  auto quality = IntervalQuality{};
  auto widths = std::vector<double>{};
  for (auto const& row : rows) {
    if (!row.is_scored || !row.low) continue;
    if (*row.low <= row.measurement->value && row.measurement->value <= *row.high) quality.inside += 1;
    widths.push_back((*row.high - *row.low) / 2 / *row.predicted);
  }
  if (widths.empty()) return std::nullopt;
  quality.rows = static_cast<std::int64_t>(widths.size());
  quality.inside /= static_cast<double>(widths.size());
  quality.half_width = median(std::move(widths));
  return quality;
}

}  // namespace twinstep::validate
