#include "explore/sweep/outcome.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "explore/sweep/export.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kStepTime = "step_time_s";
constexpr auto kEfficiency = "tokens_per_s_per_gpu";

void count(Row const& row, Outcome& outcome) {
  ++outcome.rows;
  auto const status = static_cast<std::size_t>(row.status);
  ++outcome.counts[status];
  if (!outcome.first[status]) outcome.first[status] = row;
  if (row.status != Status::kOk) return;
  // Of equal ones the first.
  if (!outcome.fastest || row.number(kStepTime) < outcome.fastest->number(kStepTime)) outcome.fastest = row;
  if (!outcome.most_efficient || row.number(kEfficiency) > outcome.most_efficient->number(kEfficiency))
    outcome.most_efficient = row;
}

std::string best_json(std::optional<Row> const& row, std::vector<std::string> const& paths) {
  if (!row) return "null";
  return fmt::format(R"({{"point": {}, "settings": {}, "{}": {}, "{}": {}}})", row->point, settings_json(*row, paths),
                     kStepTime, row->number(kStepTime).value_or(0), kEfficiency, row->number(kEfficiency).value_or(0));
}

}  // namespace

Outcome summarize(ResultsFile& results) {
  auto const& manifest = results.manifest();
  auto outcome = Outcome{.path = results.path(),
                         .settings = manifest.paths,
                         .points = manifest.points,
                         .is_finished = results.is_finished()};
  results.for_each_row([&outcome](Row const& row) { count(row, outcome); });
  return outcome;
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

}  // namespace twinstep::explore::sweep
