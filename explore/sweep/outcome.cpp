#include "explore/sweep/outcome.hpp"

#include <algorithm>

#include "explore/sweep/export.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"

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

void write_best(io::JsonWriter& json, std::string_view key, std::optional<Row> const& row,
                std::vector<std::string> const& paths) {
  json.key(key);
  if (!row) return json.value(nullptr);
  json.begin_object();
  json.member("point", row->point);
  json.key("settings");
  write_settings(json, *row, paths);
  for (auto const* const figure : {kStepTime, kEfficiency}) json.member(figure, row->number(figure).value_or(0));
  json.end_object();
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
  auto json = io::JsonWriter{1};
  json.begin_object();
  json.member("results", outcome.path);
  json.member("points", outcome.points);
  json.member("rows", outcome.rows);
  json.member("left_out", outcome.left_out());
  json.member("finished", outcome.is_finished);
  for (std::size_t i = 0; i < outcome.counts.size(); ++i) {
    auto key = std::string{name_of(static_cast<Status>(i))};
    std::ranges::replace(key, ' ', '_');
    json.member(key, outcome.counts[i]);
  }
  write_best(json, "fastest", outcome.fastest, outcome.settings);
  write_best(json, "most_efficient", outcome.most_efficient, outcome.settings);
  json.member("asked", effort.asked);
  json.member("jobs", effort.jobs);
  json.member("processes", effort.processes);
  json.member("wall_s", effort.wall.count());
  json.end_object();
  return std::move(json).finish();
}

}  // namespace twinstep::explore::sweep
