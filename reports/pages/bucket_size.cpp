#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

/// The best size, and what it gains.
std::string finding(Answered const& question, BucketCurve const& curve) {
  auto const best = std::ranges::min_element(curve.points, {}, &BucketPoint::step_time);
  auto const given = question.run(curve.place)->summary.step_time;
  auto const gain = best->step_time < given
                        ? fmt::format("a step takes {} less than as given", reports::time_text(given - best->step_time))
                        : std::string{"no better than as given"};
  return fmt::format("{}: buckets of {} are the best of those tried, {}. ",
                     question.scenarios[curve.place].strategy_title, reports::memory_text(best->bucket), gain);
}

reports::Series series_of(std::string title, BucketCurve const& curve, TimeUnit const& unit) {
  auto series = reports::Series{.name = std::move(title)};
  for (auto const& point : curve.points)
    series.points.push_back({.x = static_cast<double>(point.bucket.count()),
                             .y = number_in(point.step_time, unit),
                             .note = reports::memory_text(point.bucket)});
  return series;
}

}  // namespace

reports::Section bucket_size_section(CloserLook const& look) {
  auto section = reports::Section{.title = "Bucket size"};
  if (look.buckets.empty()) {
    section.text = "None of the strategies takes a bucket size.";
    return section;
  }
  auto longest = Duration{};
  for (auto const& curve : look.buckets)
    for (auto const& point : curve.points) longest = std::max(longest, point.step_time);
  auto const unit = time_unit_for(longest);
  auto chart = reports::Chart{.id = "bucket-size", .title = "Step time against the size of gradient buckets"};
  chart.x = {.name = "bucket", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "step time", .unit = unit.name};
  for (auto const& curve : look.buckets) {
    chart.text += finding(look.question, curve);
    chart.series.push_back(series_of(look.question.scenarios[curve.place].strategy_title, curve, unit));
  }
  section.charts.push_back(std::move(chart));
  return section;
}

}  // namespace twinstep::pages
