#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "reports/job_text.hpp"
#include "reports/pages/axes.hpp"
#include "reports/pages/pages.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

/// A file may say anything; a clock cannot.
Duration step_time_of(io::Node const& plan) {
  constexpr auto kLongest = 8e6;  // s: what the simulated clock holds
  auto const node = plan.at("step_time_s");
  auto const seconds = node.number();
  if (!(seconds >= 0 && seconds <= kLongest))
    node.fail(fmt::format("found {}, expected seconds from 0 to {:.0f}", seconds, kLongest),
              "let twinstep plan write it anew");
  return to_duration(Seconds{seconds});
}

using reports::kNoValue;

std::string text_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  return found ? std::string{found->string()} : std::string{};
}

/// "fsdp2, reshard_after_forward false, groups of 8"
std::string strategy_of(io::Node const& plan) {
  auto text = text_at(plan, "strategy");
  if (auto const options = text_at(plan, "options"); !options.empty()) text += ", " + options;
  auto const group = plan.at("shard_group").integer();
  if (group > 1 && group < plan.at("gpus").integer()) text += fmt::format(", groups of {}", group);
  return text;
}

std::string cost_text(io::Node const& job) {
  auto const cost = job.find("cost");
  if (!cost) return std::string{kNoValue};
  return reports::money_text({cost->at("amount").number(), std::string{cost->at("currency").string()}});
}

/// What the whole job takes; empty cells without one.
std::vector<std::string> job_cells(io::Node const& plan) {
  auto const job = plan.find("job");
  if (!job) return {};
  auto const goodput = job->find("goodput");
  return {reports::long_time_text(Seconds{job->at("time_s").number()}),
          reports::gpu_hours_text(job->at("gpu_hours").number()), cost_text(*job),
          goodput ? reports::percent_text(goodput->number()) : std::string{kNoValue}};
}

reports::PageTable plans_table(std::string title, std::vector<io::Node> const& plans) {
  auto const counted = plans.empty() ? std::nullopt : plans.front().find("counted");
  auto table = reports::PageTable{
      .title = std::move(title),
      .headers = {"cluster", "GPUs", "strategy", "micro-batch", "recompute", "offload", "step time",
                  fmt::format("{}/s", counted ? counted->string() : "tokens"), "MFU", "peak memory"}};
  if (!plans.empty() && plans.front().find("job"))
    for (auto const* const header : {"whole job", "GPU-hours", "cost", "goodput"}) table.headers.emplace_back(header);
  for (auto const& plan : plans) {
    auto const mfu = plan.find("mfu");
    auto row = std::vector<std::string>{
        text_at(plan, "cluster"),
        fmt::format("{}", plan.at("gpus").integer()),
        strategy_of(plan),
        fmt::format("{} × {}", plan.at("micro_batch").integer(), plan.at("accumulation").integer()),
        text_at(plan, "recompute"),
        text_at(plan, "offload"),
        reports::time_text(step_time_of(plan)),
        reports::count_text(plan.at("tokens_per_s").number()),
        mfu ? reports::percent_text(mfu->number()) : std::string{kNoValue},
        reports::memory_text(Bytes{plan.at("peak_memory_bytes").integer()})};
    for (auto& cell : job_cells(plan)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The axes of time against cost: of the whole job where there is one, in money where there is a price; of a step, in
/// GPU-seconds, elsewhere.
struct Trade {
  reports::Axis time;
  reports::Axis cost;
  std::function<std::pair<double, double>(io::Node const&)> place;
};

/// A unit in which a job's time is a number from one on, if there is such a unit.
std::pair<std::string, double> job_time_unit(double seconds) {
  for (auto const& [unit, size] : {std::pair{"days", 86'400.0}, {"hours", 3600.0}, {"min", 60.0}})
    if (seconds >= size) return {unit, size};
  return {"s", 1};
}

/// @param slowest  of the plans
Trade trade_of(io::Node const& slowest) {
  auto const job = slowest.find("job");
  if (!job)
    return {{.name = "step time", .unit = "s"}, {.name = "a step costs", .unit = "GPU-s"}, [](io::Node const& each) {
              auto const time = each.at("step_time_s").number();
              return std::pair{time, time * each.at("gpus").number()};
            }};
  auto const [unit, size] = job_time_unit(job->at("time_s").number());
  auto const time = [in = size](io::Node const& each) { return each.at("job").at("time_s").number() / in; };
  auto const cost = job->find("cost");
  if (!cost)
    return {{.name = "time", .unit = unit}, {.name = "cost", .unit = "GPU-hours"}, [time](io::Node const& each) {
              return std::pair{time(each), each.at("job").at("gpu_hours").number()};
            }};
  return {{.name = "time", .unit = unit},
          {.name = "cost", .unit = std::string{cost->at("currency").string()}},
          [time](io::Node const& each) {
            return std::pair{time(each), each.at("job").at("cost").at("amount").number()};
          }};
}

reports::Series series_of(std::string name, reports::SeriesStyle style, std::vector<io::Node> const& plans,
                          Trade const& trade) {
  auto series = reports::Series{.name = std::move(name), .style = style};
  for (auto const& plan : plans) {
    auto const [x, y] = trade.place(plan);
    series.points.push_back(
        {.x = x,
         .y = y,
         .note = fmt::format("{} GPUs of {}, {}, micro-batch {}", plan.at("gpus").integer(), text_at(plan, "cluster"),
                             strategy_of(plan), plan.at("micro_batch").integer())});
  }
  std::ranges::stable_sort(series.points, {}, &reports::ChartPoint::x);
  return series;
}

reports::Section trade_section(std::vector<io::Node> const& plans, std::vector<io::Node> const& pareto) {
  auto const trade = trade_of(pareto.back());
  auto chart = reports::Chart{.id = "pareto", .title = "Time against cost"};
  chart.text = "On the line no other plan is both faster and cheaper.";
  chart.x = trade.time;
  chart.y = trade.cost;
  chart.series = {series_of("best trades", reports::SeriesStyle::kLine, pareto, trade),
                  series_of("ranked plans", reports::SeriesStyle::kPoints, plans, trade)};
  return {
      .title = "Time against cost", .tables = {plans_table("The best trades", pareto)}, .charts = {std::move(chart)}};
}

std::string count_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  return found ? fmt::format("{}", found->integer()) : std::string{kNoValue};
}

/// The strategy of the plan at `key`; nothing without one.
std::string strategy_at(io::Node const& object, std::string_view key) {
  auto const plan = object.find(key);
  return plan ? strategy_of(*plan) : std::string{kNoValue};
}

reports::PageTable minimum_table(io::Node const& document) {
  auto table = reports::PageTable{
      .title = "The fewest GPUs",
      .headers = {"cluster", "on which a plan fits", "by", "that meet the deadline", "by", "looked at up to"}};
  for (auto const& minimum : document.at("minimum_gpus").elements())
    table.rows.push_back({text_at(minimum, "cluster"), count_at(minimum, "fit"), strategy_at(minimum, "fit_by"),
                          count_at(minimum, "meet_deadline"), strategy_at(minimum, "meet_deadline_by"),
                          count_at(minimum, "searched_to")});
  return table;
}

std::string time_at(io::Node const& object, std::string_view key) {
  auto const plan = object.find(key);
  return plan ? reports::time_text(step_time_of(*plan)) : std::string{kNoValue};
}

reports::PageTable what_if_table(std::vector<io::Node> const& questions) {
  auto table = reports::PageTable{.title = "The best plan before and after each change",
                                  .headers = {"change", "cluster", "GPUs", "step time", "then", "by", "note"}};
  for (auto const& each : questions)
    table.rows.push_back({text_at(each, "set"), text_at(each, "cluster"), count_at(each, "gpus"),
                          time_at(each, "before"), time_at(each, "after"), strategy_at(each, "after"),
                          text_at(each, "note")});
  return table;
}

reports::PageTable rejected_table(io::Node const& document) {
  auto table = reports::PageTable{.title = "Why others were left out, by what came nearest",
                                  .headers = {"cluster", "GPUs", "strategy", "configurations", "reason"}};
  for (auto const& rejected : document.at("rejected").elements())
    table.rows.push_back({text_at(rejected, "cluster"), count_at(rejected, "gpus"), text_at(rejected, "strategy"),
                          count_at(rejected, "count"), text_at(rejected, "reason")});
  return table;
}

/// The texts of an array, a sentence each.
std::string sentences_at(io::Node const& document, std::string_view key) {
  auto text = std::string{};
  for (auto const& each : document.at(key).elements())
    text += fmt::format("{}{}", text.empty() ? "" : " ", each.string());
  return text;
}

std::string finding(io::Node const& document, std::vector<io::Node> const& plans) {
  auto const what = text_at(document, "searched");
  auto const searched =
      fmt::format("{} configurations were looked at, {} of them simulated.{}", document.at("configurations").integer(),
                  document.at("simulations").integer(), what.empty() ? "" : fmt::format(" Searched: {}.", what));
  if (plans.empty()) return "No plan fits. " + searched;
  auto const& best = plans.front();
  return fmt::format("The first of {} plans by {}: {} on {} GPUs of {}, {} a step. {}", plans.size(),
                     document.at("ranked_by").string(), strategy_of(best), best.at("gpus").integer(),
                     text_at(best, "cluster"), reports::time_text(step_time_of(best)), searched);
}

}  // namespace

reports::Page plan_page(io::Node const& document) {
  auto const plans = document.at("plans").elements();
  auto const pareto = document.at("pareto").elements();
  auto page = reports::Page{.title = "Plans for " + text_at(document, "model"), .text = finding(document, plans)};
  if (auto const verdict = sentences_at(document, "verdict"); !verdict.empty()) page.text = verdict + " " + page.text;
  for (auto const& warning : document.at("warnings").elements()) page.warnings.emplace_back(warning.string());
  page.sections.push_back(
      {.title = "Ranked plans", .tables = {plans_table("By " + text_at(document, "ranked_by"), plans)}});
  if (!pareto.empty()) page.sections.push_back(trade_section(plans, pareto));
  if (auto const what_if = document.find("what_if"); what_if && !what_if->elements().empty())
    page.sections.push_back({.title = "What if", .tables = {what_if_table(what_if->elements())}});
  page.sections.push_back(
      {.title = "What does not fit", .tables = {minimum_table(document), rejected_table(document)}});
  return page;
}

}  // namespace twinstep::pages
