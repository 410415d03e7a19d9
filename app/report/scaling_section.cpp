#include <algorithm>

#include <fmt/format.h>

#include "app/report/parallel.hpp"
#include "app/report/scale.hpp"
#include "app/report/scaling.hpp"
#include "app/report/sections.hpp"

namespace twinstep::app {
namespace {

constexpr std::int64_t kMostNodes = 1024;

std::string_view word_of(Growth growth) {
  return growth == Growth::kWeak ? "weak" : "strong";
}

std::string percent(double share) {
  return reports::percent_text(share);
}

/// "exposed all_reduce is 91.0 % of what is lost; …".
std::string cause_text(Loss const& loss) {
  auto text = fmt::format("{} is {} of what a token costs more", loss.cause, percent(loss.share));
  if (loss.busiest_link)
    text += fmt::format("; the busiest link is the {}, in use {} of the step", loss.busiest_link->traffic.name,
                        percent(loss.busiest_link->utilisation));
  for (std::size_t i = 0; i < loss.savings.size(); ++i)
    text += fmt::format("{} {} ({})", i == 0 ? "; a tenth better would save most:" : ",", loss.savings[i].parameter,
                        percent(loss.savings[i].share));
  return text;
}

/// The point of the curve at which most of it is lost, from one point to the next.
std::size_t largest_drop(ScaleCurve const& curve) {
  auto place = std::size_t{1};
  for (auto i = place; i < curve.points.size(); ++i) {
    auto const drop = [&](std::size_t at) { return curve.points[at - 1].efficiency - curve.points[at].efficiency; };
    if (drop(i) > drop(place)) place = i;
  }
  return place;
}

/// Where one curve bends and why, as a sentence.
std::string finding(Question const& question, ScaleCurve const& curve) {
  auto const& title = question.scenarios[curve.place].strategy_title;
  if (curve.points.size() < 2) return fmt::format("{}: one point only ({}).", title, curve.end);
  auto const& last = curve.points.back();
  auto text = std::string{};
  if (auto const knee = knee_of(curve)) {
    auto const& at = curve.points[*knee];
    text = fmt::format("{}: the knee is at {} GPUs, where {} of the efficiency is left: {}.", title, at.gpus,
                       percent(at.efficiency), cause_text(loss_at(question, curve, *knee)));
  } else {
    text = fmt::format("{}: no knee up to {} GPUs, where {} of the efficiency is left", title, last.gpus,
                       percent(last.efficiency));
    auto const drop = largest_drop(curve);
    if (curve.points[drop].efficiency < curve.points[drop - 1].efficiency && curve.points[drop].efficiency < 1)
      text +=
          fmt::format("; most is lost at {}: {}", curve.points[drop].gpus, cause_text(loss_at(question, curve, drop)));
    text += ".";
  }
  return text;
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
reports::Chart chart_of(Question const& question, std::vector<ScaleCurve> const& curves, MakePoint const& make_point) {
  auto chart = reports::Chart{.x = gpus_axis()};
  for (auto const& curve : curves) {
    auto series = reports::Series{.name = question.scenarios[curve.place].strategy_title};
    for (auto const& point : curve.points) series.points.push_back(make_point(point));
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

reports::PageTable table_of(Question const& question, std::vector<ScaleCurve> const& curves, Growth growth) {
  auto table = reports::PageTable{.title = growth == Growth::kWeak ? "Weak scaling: the batch of each GPU stays"
                                                                   : "Strong scaling: the global batch stays",
                                  .headers = {"strategy", "nodes", "GPUs", "global batch", "step time", "tokens/s",
                                              "efficiency", "exposed communication", "busiest link", "in use", "fits"}};
  for (auto const& curve : curves)
    for (auto const& point : curve.points) {
      auto const& summary = point.summary;
      auto const busiest = std::ranges::max_element(summary.links, {}, &reports::LinkUse::utilisation);
      auto const has_link = busiest != summary.links.end();
      table.rows.push_back({question.scenarios[curve.place].strategy_title, std::to_string(point.nodes),
                            std::to_string(point.gpus), std::to_string(point.global_batch),
                            reports::time_text(summary.step_time), reports::count_text(summary.token_rate.count()),
                            percent(point.efficiency), reports::time_text(summary.exposed_communication),
                            has_link ? busiest->traffic.name : std::string{reports::kNoValue},
                            has_link ? percent(busiest->utilisation) : std::string{reports::kNoValue},
                            summary.fits ? "yes" : "no"});
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

void add_knees(reports::Chart& chart, std::vector<ScaleCurve> const& curves, Question const& question) {
  for (auto const& curve : curves)
    if (auto const knee = knee_of(curve)) {
      auto const at = static_cast<double>(curve.points[*knee].gpus);
      auto const& title = question.scenarios[curve.place].strategy_title;
      auto const same = std::ranges::find(chart.x_marks, at, &reports::Mark::at);
      if (same != chart.x_marks.end())
        same->text += ", " + title;
      else
        chart.x_marks.push_back({.at = at, .text = "knee: " + title});
    }
}

void add_growth(reports::Section& section, Question const& question, Growth growth) {
  auto const curves = scale_curves(question, growth, kMostNodes);
  auto const sentences = map_indices(curves.size(), [&](std::size_t i) { return finding(question, curves[i]); });
  auto efficiency = chart_of(question, curves, efficiency_point);
  efficiency.id = fmt::format("scaling-{}-efficiency", word_of(growth));
  efficiency.title = fmt::format("{} scaling: efficiency", growth == Growth::kWeak ? "Weak" : "Strong");
  efficiency.text = fmt::format("{}{}", fmt::join(sentences, " "), end_text(curves));
  efficiency.y = {.name = "speed of a GPU, of that at the start", .unit = "%"};
  efficiency.y_marks = {{.at = kKneeEfficiency * 100, .text = "knee"}};
  add_knees(efficiency, curves, question);
  auto speed = chart_of(question, curves, speed_point);
  speed.id = fmt::format("scaling-{}-speed", word_of(growth));
  speed.title = fmt::format("{} scaling: speed", growth == Growth::kWeak ? "Weak" : "Strong");
  speed.y = {.name = "speed", .unit = "tokens/s", .is_logarithmic = true};
  section.charts.push_back(std::move(efficiency));
  section.charts.push_back(std::move(speed));
  section.tables.push_back(table_of(question, curves, growth));
}

}  // namespace

reports::Section scaling_section(Question const& question) {
  auto section = reports::Section{.title = "Scaling"};
  section.text = fmt::format(
      "The same plan on 1, 2, 4, … whole nodes, each simulated. Weak scaling keeps the batch of each GPU, strong "
      "scaling "
      "the global batch. The knee is the first point at which a GPU is worth less than {} of one at the start.",
      percent(kKneeEfficiency));
  if (!question.best()) return section;
  add_growth(section, question, Growth::kWeak);
  add_growth(section, question, Growth::kStrong);
  return section;
}

}  // namespace twinstep::app
