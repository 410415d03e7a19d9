#include <algorithm>

#include <fmt/format.h>

#include "explore/ask/parallel.hpp"
#include "reports/pages/scale.hpp"
#include "reports/pages/sections.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using namespace literals;

constexpr auto kSmallestBucket = 1_MiB;
constexpr auto kLargestBucket = 4_GiB;

/// Step time with buckets of one size; nothing where the plan refuses it.
struct BucketPoint {
  Bytes bucket;
  std::optional<Duration> time;
};

/// The strategy's setting for buckets of `size`; empty where it has none. Frameworks count elements of gradients.
std::string bucket_setting(strategies::Plan const& plan, Bytes size) {
  using enum strategies::StrategyName;
  auto const elements = size / size_of(plan.precision);
  switch (plan.strategy) {
    case kDdp:
    case kZero1:
    case kZero2: return fmt::format("bucket={} B", size.count());
    case kDeepSpeed1:
    case kDeepSpeed2:
    case kDeepSpeed3: return fmt::format("reduce_bucket_size={}", elements);
    case kMegatron: return fmt::format("bucket_size={}", elements);
    default: return {};
  }
}

std::vector<BucketPoint> bucket_curve(Question const& question, std::size_t place) {
  auto const& plan = question.scenarios[place].plan;
  auto sizes = std::vector<Bytes>{};
  for (auto size = kSmallestBucket; size <= kLargestBucket; size = size * 2)
    if (!bucket_setting(plan, size).empty()) sizes.push_back(size);
  return map_indices(sizes.size(), [&](std::size_t i) {
    auto point = BucketPoint{.bucket = sizes[i], .time = std::nullopt};
    auto const setting = fmt::format("{}.{}", question.strategy_path(place), bucket_setting(plan, sizes[i]));
    try {
      auto const outcome = run_variation(changed(question, place, {setting}), {.replays_allocator = false});
      if (auto const* run = std::get_if<Run>(&outcome)) point.time = run->summary.step_time;
    } catch (InputError const&) {  // not a point of the curve
    }
    return point;
  });
}

/// The best size, and what it gains.
std::string finding(Question const& question, std::size_t place, std::vector<BucketPoint> const& curve) {
  auto const best = std::ranges::min_element(curve, {}, [](BucketPoint const& point) { return *point.time; });
  auto const given = question.run(place)->summary.step_time;
  auto const gain = *best->time < given
                        ? fmt::format("a step takes {} less than as given", reports::time_text(given - *best->time))
                        : std::string{"no better than as given"};
  return fmt::format("{}: buckets of {} are the best of those tried, {}. ", question.scenarios[place].strategy_title,
                     reports::memory_text(best->bucket), gain);
}

}  // namespace

reports::Section bucket_size_section(Question const& question) {
  auto section = reports::Section{.title = "Bucket size"};
  auto chart = reports::Chart{.id = "bucket-size", .title = "Step time against the size of gradient buckets"};
  auto longest = Duration{};
  auto curves = std::vector<std::pair<std::size_t, std::vector<BucketPoint>>>{};
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    if (question.run(i) == nullptr) continue;
    auto curve = bucket_curve(question, i);
    std::erase_if(curve, [](BucketPoint const& point) { return !point.time; });
    if (curve.empty()) continue;
    for (auto const& point : curve) longest = std::max(longest, *point.time);
    chart.text += finding(question, i, curve);
    curves.emplace_back(i, std::move(curve));
  }
  if (curves.empty()) {
    section.text = "None of the strategies takes a bucket size.";
    return section;
  }
  auto const unit = time_unit_for(longest);
  chart.x = {.name = "bucket", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "step time", .unit = unit.name};
  for (auto const& [place, curve] : curves) {
    auto series = reports::Series{.name = question.scenarios[place].strategy_title};
    for (auto const& point : curve)
      series.points.push_back({.x = static_cast<double>(point.bucket.count()),
                               .y = number_in(*point.time, unit),
                               .note = reports::memory_text(point.bucket)});
    chart.series.push_back(std::move(series));
  }
  section.charts.push_back(std::move(chart));
  return section;
}

}  // namespace twinstep::pages
