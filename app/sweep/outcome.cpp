#include "app/sweep/outcome.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/sweep/export.hpp"
#include "app/sweep/results.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::app::sweep {
namespace {

constexpr auto kStepTime = "step_time_s";
constexpr auto kEfficiency = "tokens_per_s_per_gpu";

void count(Row const& row, Outcome& outcome) {
  ++outcome.rows;
  ++outcome.counts[static_cast<std::size_t>(row.status)];
  if (row.status != Status::kOk) return;
  // Of equal ones the first.
  if (!outcome.fastest || row.number(kStepTime) < outcome.fastest->number(kStepTime)) outcome.fastest = row;
  if (!outcome.most_efficient || row.number(kEfficiency) > outcome.most_efficient->number(kEfficiency))
    outcome.most_efficient = row;
}

/// "point 3 (cluster.nodes 4, strategy {…})"
std::string name_of_point(Row const& row, std::vector<std::string> const& paths) {
  auto settings = std::vector<std::string>{};
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (auto const text = setting_text(row.settings[i]); !text.empty()) settings.push_back(paths[i] + " " + text);
  return fmt::format("point {} ({})", row.point, fmt::join(settings, ", "));
}

std::string best_json(std::optional<Row> const& row, std::vector<std::string> const& paths) {
  if (!row) return "null";
  return fmt::format(R"({{"point": {}, "settings": {}, "{}": {}, "{}": {}}})", row->point, settings_json(*row, paths),
                     kStepTime, row->number(kStepTime).value_or(0), kEfficiency, row->number(kEfficiency).value_or(0));
}

}  // namespace

Outcome summarize(std::string const& path) {
  auto outcome = Outcome{.path = path};
  auto const results = read_results(path, [&outcome](Row const& row) { count(row, outcome); });
  outcome.settings = results.manifest.paths;
  outcome.points = results.manifest.points;
  outcome.is_finished = results.is_finished;
  return outcome;
}

std::string outcome_text(Outcome const& outcome, Effort const& effort) {
  auto parts = std::vector<std::string>{};
  for (std::size_t i = 0; i < outcome.counts.size(); ++i)
    if (outcome.counts[i] > 0)
      parts.push_back(fmt::format("{} {}", outcome.counts[i], name_of(static_cast<Status>(i))));
  if (outcome.left_out() > 0) parts.push_back(fmt::format("{} left out by constraints", outcome.left_out()));
  auto text = fmt::format("{}: {} of {} points{}{}\n", one_line(outcome.path), outcome.rows, outcome.points,
                          parts.empty() ? "" : ": ", fmt::join(parts, ", "));
  if (!outcome.is_finished) text += "not finished: the same sweep goes on with --resume\n";
  if (outcome.fastest)
    text += fmt::format("shortest step: {:.4g} s at {}\n", outcome.fastest->number(kStepTime).value_or(0),
                        name_of_point(*outcome.fastest, outcome.settings));
  if (outcome.most_efficient)
    text += fmt::format("most from each GPU: {:.0f} tokens/s at {}\n",
                        outcome.most_efficient->number(kEfficiency).value_or(0),
                        name_of_point(*outcome.most_efficient, outcome.settings));
  if (effort.asked > 0)
    text += fmt::format("{} points in {:.3g} s, {:.3g} a second\n", effort.asked, effort.wall.count(),
                        static_cast<double>(effort.asked) / effort.wall.count());
  return text;
}

std::string outcome_json(Outcome const& outcome, Effort const& effort) {
  auto text =
      fmt::format(R"({{
  "results": {},
  "points": {},
  "rows": {},
  "left_out": {},
  "finished": {},
)",
                  io::json_string(outcome.path), outcome.points, outcome.rows, outcome.left_out(), outcome.is_finished);
  for (std::size_t i = 0; i < outcome.counts.size(); ++i) {
    auto key = std::string{name_of(static_cast<Status>(i))};
    std::ranges::replace(key, ' ', '_');
    text += fmt::format("  \"{}\": {},\n", key, outcome.counts[i]);
  }
  return text + fmt::format(R"(  "fastest": {},
  "most_efficient": {},
  "asked": {},
  "jobs": {},
  "processes": {},
  "wall_s": {}
}}
)",
                            best_json(outcome.fastest, outcome.settings),
                            best_json(outcome.most_efficient, outcome.settings), effort.asked, effort.jobs,
                            effort.processes, effort.wall.count());
}

}  // namespace twinstep::app::sweep
