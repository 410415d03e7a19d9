#include "explore/sweep/outcome.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "explore/sweep/export.hpp"
#include "reports/quantity_text.hpp"
#include "reports/table.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/utf8.hpp"
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

constexpr auto kNameWidth = std::size_t{30};
constexpr auto kValueWidth = std::size_t{23};

using reports::whole_text;

/// `text` with "…" for what its middle has too much: both ends of a path tell what it is.
std::string elided(std::string_view text, std::size_t width) {
  auto const count = character_count(text);
  if (count <= width) return std::string{text};
  auto const head = (width - 1) / 2;
  auto const tail = width - 1 - head;
  return fmt::format("{}…{}", text.substr(0, character_begin(text, head)),
                     text.substr(character_begin(text, count - tail)));
}

/// `text` with spaces where a table may break it: words that are longer are broken at slashes, and elided where there
/// is none.
std::string breakable(std::string_view text, std::size_t width) {
  auto pieces = std::vector<std::string>{};
  while (!text.empty()) {
    auto const word = text.substr(0, text.find(' '));
    auto end = word.size();
    if (auto const slash = word.substr(0, width).rfind('/'); end > width && slash != std::string_view::npos)
      end = slash + 1;
    pieces.push_back(elided(text.substr(0, end), width));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return fmt::format("{}", fmt::join(pieces, " "));
}

std::string step_time_text(Row const& row) {
  return reports::time_text(to_duration(Seconds{row.number("step_time_s").value_or(0)}));
}

/// One column for each of the best points, or for both where they are the same.
struct Best {
  std::string title;
  Row const* row;
};

std::vector<Best> best_of(Outcome const& outcome) {
  if (!outcome.fastest) return {};
  if (outcome.fastest->point == outcome.most_efficient->point)
    return {{"shortest step, most from each GPU", &*outcome.fastest}};
  return {{"shortest step", &*outcome.fastest}, {"most from each GPU", &*outcome.most_efficient}};
}

/// What varies and what comes of it, a line each: as many axes as there are take no more width.
std::string best_table(std::vector<Best> const& best, std::vector<std::string> const& paths) {
  auto columns = std::vector<reports::Column>{{"", reports::Align::kLeft}};
  for (auto const& each : best) columns.push_back({each.title, reports::Align::kLeft, true});
  auto table = reports::Table{std::move(columns)};
  auto const width = best.size() == 1 ? 2 * kValueWidth : kValueWidth;
  auto const add = [&](std::string const& name, auto const& text_of) {
    auto cells = std::vector<std::string>{elided(one_line(name), kNameWidth)};
    for (auto const& each : best) cells.emplace_back(breakable(one_line(text_of(*each.row)), width));
    table.add_row(std::move(cells));
  };
  add("point", [](Row const& row) { return whole_text(row.point); });
  for (std::size_t i = 0; i < paths.size(); ++i)
    add(paths[i], [i](Row const& row) {
      auto text = setting_text(row.settings[i]);
      return text.empty() ? std::string{reports::kNoValue} : text;
    });
  auto const counted = best.front().row->text("counted");
  auto const count_of = [](char const* figure) {
    return [figure](Row const& row) { return reports::count_text(row.number(figure).value_or(0)); };
  };
  add("step time", step_time_text);
  add(fmt::format("{}/s", counted), count_of("tokens_per_s"));
  add(fmt::format("{}/s/GPU", counted), count_of("tokens_per_s_per_gpu"));
  add("MFU", [](Row const& row) { return reports::percent_text(row.number("mfu")); });
  add("peak memory", [](Row const& row) {
    return reports::memory_text(Bytes{static_cast<std::int64_t>(row.number("peak_memory_bytes").value_or(0))});
  });
  return table.render({});
}

std::string counts_text(Outcome const& outcome) {
  auto parts = std::vector<std::string>{};
  for (std::size_t i = 0; i < outcome.counts.size(); ++i)
    if (outcome.counts[i] > 0)
      parts.push_back(fmt::format("{} {}", whole_text(outcome.counts[i]), name_of(static_cast<Status>(i))));
  if (outcome.left_out() > 0)
    parts.push_back(fmt::format("{} left out by constraints", whole_text(outcome.left_out())));
  auto const text = fmt::format("{}: {} of {} points{}{}", one_line(outcome.path), whole_text(outcome.rows),
                                whole_text(outcome.points), parts.empty() ? "" : ": ", fmt::join(parts, ", "));
  return reports::wrapped(text, "", {});
}

/// Why points are no answers: the first of the wrong ones, and the first of each status where nothing fits.
std::string reasons_text(Outcome const& outcome) {
  auto text = std::string{};
  for (std::size_t i = 0; i < outcome.first.size(); ++i) {
    auto const& row = outcome.first[i];
    auto const status = static_cast<Status>(i);
    if (!row || status == Status::kOk || (status != Status::kWrongInput && outcome.fastest)) continue;
    text += reports::wrapped(
        fmt::format("{}, first at point {}: {}", name_of(status), whole_text(row->point), one_line(row->reason)), "",
        {});
  }
  return text.empty() ? text : "\n" + text;
}

/// "8 s", "3 min", "2.5 h"
std::string time_left_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
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

std::string outcome_text(Outcome const& outcome, Effort const& effort) {
  auto text = counts_text(outcome);
  if (!outcome.is_finished) text += "not finished: the same sweep can be resumed\n";
  if (auto const best = best_of(outcome); !best.empty()) text += "\n" + best_table(best, outcome.settings);
  text += reasons_text(outcome);
  if (effort.asked > 0)
    text += fmt::format("\n{} points in {}, {}\n", whole_text(effort.asked),
                        reports::time_text(to_duration(effort.wall)), pace_text(effort.asked, effort.wall.count()));
  return text;
}

std::string pace_text(std::int64_t count, double seconds) {
  auto const each = seconds / static_cast<double>(count);
  if (each > 1) return reports::time_text(to_duration(Seconds{each})) + " each";
  return reports::count_text(1 / each) + " a second";
}

std::string progress_text(Advance const& advance, int bar_width) {
  auto const part = advance.total > 0 ? static_cast<double>(advance.done) / static_cast<double>(advance.total) : 1.0;
  auto const full = static_cast<std::size_t>(part * bar_width);
  auto const bar = std::string(full, '#') + std::string(static_cast<std::size_t>(bar_width) - full, '.');
  auto text = bar_width > 0 ? fmt::format("[{}] ", bar) : std::string{};
  text += fmt::format("{:3.0f} %, {} of {} {}", part * 100, reports::whole_text(advance.done),
                      reports::whole_text(advance.total), advance.unit);
  constexpr double kFirstGuess = 0.02;
  if (advance.done == 0 || advance.elapsed_s <= 0 || part < kFirstGuess) return text;
  auto const left = static_cast<double>(advance.total - advance.done) / static_cast<double>(advance.done);
  return text + fmt::format(", {}, {} left", pace_text(advance.done, advance.elapsed_s),
                            time_left_text(left * advance.elapsed_s));
}

}  // namespace twinstep::explore::sweep
