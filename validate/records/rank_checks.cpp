#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "validate/records/bandwidth_checks.hpp"
#include "validate/records/self_checks.hpp"

namespace twinstep::validate {
namespace {

/// n of 2(n-1)/n or (n-1)/n; infinite from the factor of endless ranks on.
double ranks_of_factor(MeasuredKind kind, double factor) {
  auto const limit = kind == CollectiveKind::kAllReduce ? 2.0 : 1.0;
  return factor < limit ? limit / (limit - factor) : std::numeric_limits<double>::infinity();
}

bool has_telling_factor(MeasuredKind kind) {
  return bus_factor(kind, 2) != bus_factor(kind, 4);
}

/// What one point's bandwidths allow; an empty range where no number of ranks gives them.
std::optional<RankRange> range_of(MeasuredKind kind, MeasuredPoint const& point) {
  if (!point.algorithm_bandwidth || !point.bus_bandwidth) return std::nullopt;
  auto const algorithm = *point.algorithm_bandwidth;
  auto const bus = *point.bus_bandwidth;
  if (algorithm <= rounding(algorithm)) return std::nullopt;
  auto const least = (bus - rounding(bus)) / (algorithm + rounding(algorithm));
  auto const most = (bus + rounding(bus)) / (algorithm - rounding(algorithm));
  constexpr double kMost = 1e9;
  if (ranks_of_factor(kind, least) > kMost) return RankRange{1, 0};
  auto range = RankRange{};
  range.least = static_cast<std::int64_t>(std::ceil(std::clamp(ranks_of_factor(kind, least), 1.0, kMost)));
  if (auto const ranks = ranks_of_factor(kind, most); ranks < kMost)
    range.most = static_cast<std::int64_t>(std::floor(std::max(1.0, ranks)));
  return range;
}

RankRange both(RankRange const& a, RankRange const& b) {
  auto const most = a.most && b.most ? std::min(*a.most, *b.most) : a.most.value_or(b.most.value_or(0));
  auto range = RankRange{std::max(a.least, b.least), {}};
  if (a.most || b.most) range.most = most;
  return range;
}

bool is_empty(RankRange const& range) {
  return range.most && *range.most < range.least;
}

std::string range_text(RankRange const& range) {
  if (!range.most) return fmt::format("at least {}", range.least);
  if (*range.most == range.least) return fmt::format("{}", range.least);
  return fmt::format("{} to {}", range.least, *range.most);
}

}  // namespace

std::optional<RankRange> ranks_by_bandwidths(CollectiveRecord const& record) {
  if (!has_telling_factor(record.kind)) return std::nullopt;
  auto all = std::optional<RankRange>{};
  for (auto const& point : record.points)
    if (auto const range = range_of(record.kind, point)) all = all ? both(*all, *range) : *range;
  return all;
}

void check_ranks(CollectiveRecord const& record, std::vector<std::string>& found) {
  if (!has_telling_factor(record.kind)) return;
  auto so_far = std::optional<RankRange>{};
  for (auto const& point : record.points) {
    auto const range = range_of(record.kind, point);
    if (!range) continue;
    auto const next = so_far ? both(*so_far, *range) : *range;
    if (is_empty(next)) {
      auto const is_mixed = so_far && !is_empty(*range);
      found.push_back(
          is_mixed
              ? fmt::format("has bandwidths that fit {} ranks up to {} and {} from there on: two logs seem mixed; "
                            "give each a record of its own",
                            range_text(*so_far), size_text(point.size), range_text(*range))
              : fmt::format("has busbw {:.4g} and algbw {:.4g} GB/s at {}, which no number of ranks gives: another "
                            "collective, or one of them is wrong",
                            point.bus_bandwidth->count() / 1e9, point.algorithm_bandwidth->count() / 1e9,
                            size_text(point.size)));
      return;
    }
    so_far = next;
  }
  if (!so_far || so_far->holds(record.ranks)) return;
  auto const by_rate = [](MeasuredPoint const& point) { return point.algorithm_bandwidth.value_or(BytesPerSecond{}); };
  auto const& point = *std::ranges::max_element(record.points, {}, by_rate);
  auto const factor = *point.bus_bandwidth / *point.algorithm_bandwidth;
  found.push_back(fmt::format(
      "says {} ranks, whose busbw is {:.5g} times algbw, but it is {:.5g} times: that fits {} "
      "rank{}; correct \"ranks\"",
      record.ranks, bus_factor(record.kind, record.ranks), factor, range_text(*so_far), so_far->most == 1 ? "" : "s"));
}

}  // namespace twinstep::validate
