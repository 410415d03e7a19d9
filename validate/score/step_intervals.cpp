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

bool is_rate(ScoredStep const& row) {
  return row.measurement->quantity == StepQuantity::kTokenRate;
}

/// How much longer than predicted, or larger: a rate counts by the time that it stands for.
double excess_of(ScoredStep const& row) {
  return is_rate(row) ? 1 / factor_of(row) : factor_of(row);
}

bool is_alike(StepQuantity a, StepQuantity b) {
  return a == b || (is_speed(a) && is_speed(b));
}

/// Where the factors lie of what no constant has seen, in the other families.
std::optional<FactorBand> band_of_others(ScoredStep const& row, std::vector<ScoredStep> const& rows) {
  auto excesses = std::vector<double>{};
  for (auto const& other : rows)
    if (other.is_scored && !other.answer.is_fitted && other.family != row.family &&
        is_alike(other.measurement->quantity, row.measurement->quantity))
      excesses.push_back(excess_of(other));
  auto const band = band_of(std::move(excesses));
  if (!band || !is_rate(row)) return band;
  return FactorBand{1 / band->high, 1 / band->low};
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
    if (!row.predicted || row.measurement == nullptr) continue;
    auto band = band_of(factors_beside(row, rows, true));
    if (!band) band = band_of(factors_beside(row, rows, false));
    if (!band) band = band_of_others(row, rows);
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
