#include <algorithm>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

std::string_view word_of(Growth growth) {
  return growth == Growth::kWeak ? "weak" : "strong";
}

std::string percent(double share) {
  return reports::percent_text(share);
}

/// The strategy of a curve. A curve begins where the step fits, unless it fits nowhere.
std::string title_of(Answered const& question, ScaleCurve const& curve) {
  auto const& title = question.scenarios[curve.place].strategy_title;
  return curve.points.empty() || curve.points.front().summary.fits ? title : title + " (does not fit)";
}

std::string levers_text(Loss const& loss) {
  auto text = std::string{};
  for (auto const& lever : loss.levers)
    text += fmt::format("{}{} (+{})", text.empty() ? "" : ", ", lever.parameter, percent(lever.gain));
  return text.empty() ? std::string{reports::kNoValue} : text;
}

/// Where one curve bends and why.
std::string finding(Answered const& question, ScaleCurve const& curve) {
  auto const title = title_of(question, curve);
  if (curve.points.empty()) return fmt::format("{} has no curve: {}.", title, curve.end);
  auto const& first = curve.points.front();
  auto const& last = curve.points.back();
  if (curve.points.size() == 1) return fmt::format("{} runs on {} GPUs only: {}.", title, first.gpus, curve.end);
  if (!curve.bend)
    return fmt::format("{} has no bend up to {} GPUs: {} of a GPU's speed on {} are left.", title, last.gpus,
                       percent(last.efficiency), first.gpus);
  auto const& [at, loss] = *curve.bend;
  auto text = fmt::format(
      "{} bends at {} GPUs, where {} of a GPU's speed on {} are left: {} of what a {} costs more there is {}.", title,
      curve.points[at].gpus, percent(curve.points[at].efficiency), first.gpus, percent(loss.share),
      unit_counted(question), loss.cause);
  if (!loss.levers.empty())
    text += fmt::format(" It depends most on the {}: a tenth better raises the efficiency by {}.",
                        loss.levers.front().parameter, percent(loss.levers.front().gain));
  return text;
}

reports::PageTable bends_table(Answered const& question, std::vector<ScaleCurve> const& curves) {
  auto table = reports::PageTable{
      .title = fmt::format("Where {} scaling bends, and why", word_of(curves.front().growth)),
      .headers = {"strategy", "bends at", "efficiency", fmt::format("what a {} costs more", unit_counted(question)),
                  "what raises it, a tenth better each", "busiest link"}};
  for (auto const& curve : curves) {
    if (!curve.bend) continue;
    auto const& loss = curve.bend->loss;
    auto const& point = curve.points[curve.bend->point];
    table.rows.push_back({title_of(question, curve), fmt::format("{} GPUs", point.gpus), percent(point.efficiency),
                          fmt::format("{}, {}", loss.cause, percent(loss.share)), levers_text(loss),
                          busiest_link(point.summary)});
  }
  return table;
}

reports::Axis gpus_axis() {
  return {.name = "GPUs", .is_logarithmic = true};
}

std::string note_of(ScalePoint const& point) {
  return fmt::format("{} node{}, global batch {}, {} a step{}", point.nodes, point.nodes == 1 ? "" : "s",
                     point.global_batch, reports::time_text(point.summary.step_time),
                     point.summary.fits ? "" : ", does not fit");
}

/// Points of a rate that falls as the step time rises.
reports::ChartPoint speed_point(ScalePoint const& point) {
  auto const& summary = point.summary;
  auto out = reports::ChartPoint{
      .x = static_cast<double>(point.gpus), .y = summary.token_rate.count(), .note = note_of(point)};
  if (summary.interval) {
    auto const tokens = static_cast<double>(summary.tokens);
    out.y_low = tokens / to_seconds(summary.interval->high).count();
    out.y_high = tokens / to_seconds(summary.interval->low).count();
  }
  return out;
}

reports::ChartPoint efficiency_point(ScalePoint const& point) {
  return {.x = static_cast<double>(point.gpus), .y = point.efficiency * 100, .note = note_of(point)};
}

template <class MakePoint>
reports::Chart chart_of(Answered const& question, std::vector<ScaleCurve> const& curves, MakePoint const& make_point) {
  auto chart = reports::Chart{.x = gpus_axis()};
  for (auto const& curve : curves) {
    auto series = reports::Series{.name = title_of(question, curve)};
    for (auto const& point : curve.points) series.points.push_back(make_point(point));
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

reports::PageTable table_of(Answered const& question, ScaleCurve const& curve) {
  auto table = reports::PageTable{
      .title =
          fmt::format("{} scaling of {}", curve.growth == Growth::kWeak ? "Weak" : "Strong", title_of(question, curve)),
      .headers = {"nodes", "GPUs", "global batch", "step time", rate_unit(question), "efficiency", "exposed",
                  "busiest link", "fits"}};
  for (auto const& point : curve.points) {
    auto const& summary = point.summary;
    table.rows.push_back({std::to_string(point.nodes), std::to_string(point.gpus), std::to_string(point.global_batch),
                          reports::time_text(summary.step_time), reports::count_text(summary.token_rate.count()),
                          percent(point.efficiency), reports::time_text(summary.exposed_communication),
                          busiest_link(summary), summary.fits ? "yes" : "no"});
  }
  return table;
}

/// Why the curves end: each reason once.
std::string end_text(std::vector<ScaleCurve> const& curves) {
  auto ends = std::vector<std::string>{};
  for (auto const& curve : curves)
    if (!curve.end.empty() && !curve.points.empty() && std::ranges::find(ends, curve.end) == ends.end())
      ends.push_back(curve.end);
  return ends.empty() ? std::string{}
                      : fmt::format(" Curves end where the next point cannot be: {}.", fmt::join(ends, "; "));
}

void add_knees(reports::Chart& chart, std::vector<ScaleCurve> const& curves, Answered const& question) {
  for (auto const& curve : curves)
    if (curve.bend) {
      auto const at = static_cast<double>(curve.points[curve.bend->point].gpus);
      auto const& title = question.scenarios[curve.place].strategy_title;
      auto const same = std::ranges::find(chart.x_marks, at, &reports::Mark::at);
      if (same != chart.x_marks.end())
        same->text += ", " + title;
      else
        chart.x_marks.push_back({.at = at, .text = title});
    }
}

void add_growth(reports::Section& section, Answered const& question, std::vector<ScaleCurve> const& curves) {
  auto const best = *question.best();
  auto const growth = curves.front().growth;
  auto efficiency = chart_of(question, curves, efficiency_point);
  efficiency.id = fmt::format("scaling-{}-efficiency", word_of(growth));
  efficiency.title = fmt::format("{} scaling: efficiency", growth == Growth::kWeak ? "Weak" : "Strong");
  efficiency.text = finding(question, curves[best]) + end_text(curves);
  efficiency.y = {.name = "speed of a GPU, of that at the start", .unit = "%"};
  efficiency.y_marks = {{.at = kKneeEfficiency * 100, .text = "knee"}};
  add_knees(efficiency, curves, question);
  auto speed = chart_of(question, curves, speed_point);
  speed.id = fmt::format("scaling-{}-speed", word_of(growth));
  speed.title = fmt::format("{} scaling: speed", growth == Growth::kWeak ? "Weak" : "Strong");
  speed.y = {.name = "speed", .unit = rate_unit(question), .is_logarithmic = true};
  section.charts.push_back(std::move(efficiency));
  section.charts.push_back(std::move(speed));
  auto bends = bends_table(question, curves);
  if (!bends.rows.empty()) section.tables.push_back(std::move(bends));
  section.tables.push_back(table_of(question, curves[best]));
}

}  // namespace

reports::Section scaling_section(CloserLook const& look) {
  auto section = reports::Section{.title = "Scaling"};
  section.text = fmt::format(
      "The same plan on 1, 2, 4, … whole nodes, from the fewest on which it fits, each simulated. Weak scaling keeps "
      "the batch of each GPU, strong scaling the global batch. A curve bends, at its knee, where a GPU is first worth "
      "less than {} of one at its start.",
      percent(kKneeEfficiency));
  add_growth(section, look.question, look.scaling.weak);
  add_growth(section, look.question, look.scaling.strong);
  return section;
}

}  // namespace twinstep::pages
