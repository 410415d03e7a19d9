#include "validate/score/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/base/check.hpp"
#include "validate/score/averages.hpp"

namespace twinstep::validate {
namespace {

/// Places from 0; equals share the mean of theirs.
std::vector<double> ranks_of(std::vector<double> const& values) {
  auto order = std::vector<std::size_t>(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  auto ranks = std::vector<double>(values.size());
  for (std::size_t first = 0; first < order.size();) {
    auto last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (auto i = first; i <= last; ++i) ranks[order[i]] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return ranks;
}

}  // namespace

bool belongs(Bytes size, SizeClass sizes) {
  using namespace literals;
  switch (sizes) {
    case SizeClass::kAll: return true;
    case SizeClass::kUpTo64KiB: return size <= 64_KiB;
    case SizeClass::kFrom1MiB: return size >= 1_MiB;
    case SizeClass::kFrom256MiB: return size >= 256_MiB;
  }
  return false;
}

Errors errors_of(CollectiveRecord const& record, std::span<std::optional<Seconds> const> predicted) {
  TWINSTEP_CHECK(predicted.size() == record.points.size(), "every point has its prediction, or none");
  auto errors = std::array<std::vector<double>, kSizeClasses>{};
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    auto const& point = record.points[i];
    if (!predicted[i] || point.is_outlier) continue;
    auto const error = std::abs(*predicted[i] / point.time - 1);
    for (std::size_t c = 0; c < kSizeClasses; ++c)
      if (belongs(point.size, static_cast<SizeClass>(c))) errors[c].push_back(error);
  }
  auto result = Errors{};
  for (std::size_t c = 0; c < kSizeClasses; ++c)
    if (!errors[c].empty()) result.mean[c] = mean(errors[c]);
  if (!errors.front().empty()) result.worst = std::ranges::max(errors.front());
  return result;
}

Summary summarize(std::span<SystemErrors const> records, SizeClass sizes) {
  auto by_system = std::map<std::string, std::vector<double>>{};
  for (auto const& record : records)
    if (auto const error = record.errors.mean[static_cast<std::size_t>(sizes)])
      by_system[record.system].push_back(*error);
  if (by_system.empty()) return {};
  auto means = std::vector<double>{};
  for (auto const& [system, errors] : by_system) means.push_back(mean(errors));
  return {median(means), mean(means), std::ranges::max(means), static_cast<std::int64_t>(means.size())};
}

std::optional<double> rank_correlation(std::vector<double> const& a, std::vector<double> const& b) {
  TWINSTEP_CHECK(a.size() == b.size(), "both lists are about the same points");
  if (a.size() < 2) return std::nullopt;
  auto const x = ranks_of(a);
  auto const y = ranks_of(b);
  auto const middle = static_cast<double>(a.size() - 1) / 2;
  auto xy = 0.0;
  auto xx = 0.0;
  auto yy = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? std::optional{xy / std::sqrt(xx * yy)} : std::nullopt;
}

}  // namespace twinstep::validate
