#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "reports/pages/axes.hpp"
#include "reports/pages/pages.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using sweep::Cell;
using sweep::Results;
using sweep::Row;

constexpr std::size_t kBestRows = 20;
/// More lines than these nobody can tell apart.
constexpr std::size_t kMostLines = 12;

std::string text_of(Cell const& cell) {
  if (auto const* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (auto const* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  if (auto const* text = std::get_if<std::string>(&cell)) return *text;
  return std::string{reports::kNoValue};
}

/// The number of a setting, and its unit: "400 Gb/s" is 400.
struct Number {
  double value = 0;
  std::string unit;
};

std::optional<Number> number_of(Cell const& cell) {
  if (auto const* whole = std::get_if<std::int64_t>(&cell)) return Number{static_cast<double>(*whole), {}};
  if (auto const* real = std::get_if<double>(&cell)) return Number{*real, {}};
  auto const* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return std::nullopt;
  auto end = std::size_t{0};
  try {
    auto const value = std::stod(*text, &end);
    auto const unit = text->find_first_not_of(' ', end);
    return Number{value, unit == std::string::npos ? std::string{} : text->substr(unit)};
  } catch (std::logic_error const&) {
    return std::nullopt;
  }
}

/// What the values of one path are.
struct Path {
  std::string name;
  std::size_t place = 0;
  bool is_numeric = true;  ///< all numbers of one unit
  std::string unit;
  std::set<std::string> values;
  std::vector<std::string> partners;  ///< later paths whose values go with its own, one with each
};

/// Whether each value of one path comes with one value of the other, always: points of a sweep often change several.
bool go_together(Results const& results, Path const& one, Path const& other) {
  auto pairs = std::set<std::pair<std::string, std::string>>{};
  for (auto const& row : results.rows)
    pairs.emplace(text_of(row.settings[one.place]), text_of(row.settings[other.place]));
  return pairs.size() == one.values.size() && pairs.size() == other.values.size();
}

std::vector<Path> paths_of(Results const& results) {
  auto paths = std::vector<Path>{};
  for (std::size_t i = 0; i < results.manifest.paths.size(); ++i) {
    auto path = Path{.name = results.manifest.paths[i], .place = i};
    for (auto const& row : results.rows) {
      auto const number = number_of(row.settings[i]);
      if (!number || (!path.values.empty() && number->unit != path.unit)) path.is_numeric = false;
      if (number) path.unit = number->unit;
      path.values.insert(text_of(row.settings[i]));
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

/// The paths that have charts of their own: numbers that differ and are no other axis' partners.
std::vector<Path> axes_of(Results const& results, std::vector<Path> const& paths) {
  auto axes = std::vector<Path>{};
  for (auto const& path : paths) {
    if (!path.is_numeric || path.values.size() < 2) continue;
    auto const leader = std::ranges::find_if(axes, [&](Path const& axis) { return go_together(results, axis, path); });
    if (leader == axes.end())
      axes.push_back(path);
    else
      leader->partners.push_back(path.name);
  }
  return axes;
}

/// The best row of all those with the same value on the axis and on the paths that name lines.
using Lines = std::map<std::string, std::map<double, Row const*>>;

bool is_better(Row const& a, Row const& b) {
  return *a.number("tokens_per_s_per_gpu") > *b.number("tokens_per_s_per_gpu");
}

/// One line for each combination of the categorical paths; of rows that differ in another number the best counts.
Lines lines_over(Results const& results, std::vector<Path> const& paths, Path const& axis) {
  auto lines = Lines{};
  for (auto const& row : results.rows) {
    if (row.status != sweep::Status::kOk || !row.number("step_time_s")) continue;
    auto name = std::string{};
    for (auto const& path : paths)
      if (!path.is_numeric && path.values.size() > 1)
        name += fmt::format("{}{}", name.empty() ? "" : ", ", text_of(row.settings[path.place]));
    auto& best = lines[name.empty() ? "all" : name][number_of(row.settings[axis.place])->value];
    if (best == nullptr || is_better(row, *best)) best = &row;
  }
  return lines;
}

/// What the rates of the rows count: "tokens", "samples" of models without sequences, or both by turns.
std::string counted_in(Results const& results) {
  auto kinds = std::set<std::string_view>{};
  for (auto const& row : results.rows)
    if (row.status == sweep::Status::kOk) kinds.insert(row.text("counted"));
  return kinds.empty() ? "tokens" : fmt::format("{}", fmt::join(kinds, " or "));
}

struct Quantity {
  std::string_view figure;
  std::string_view name;
  std::string unit;
  double scale = 1;
};

std::array<Quantity, 3> quantities_of(Results const& results) {
  return {{{"step_time_s", "step time", "ms", 1e3},
           {"tokens_per_s", "speed", counted_in(results) + "/s", 1},
           {"mfu", "model FLOPs utilisation", "%", 100}}};
}

reports::ChartPoint point_of(Row const& row, double x, Quantity const& quantity, Results const& results) {
  auto point = reports::ChartPoint{.x = x, .y = *row.number(quantity.figure) * quantity.scale};
  for (std::size_t i = 0; i < row.settings.size(); ++i)
    point.note += fmt::format("{}{}={}", i == 0 ? "" : ", ", results.manifest.paths[i], text_of(row.settings[i]));
  if (quantity.figure != "step_time_s") return point;
  if (auto const low = row.number("interval_low_s")) point.y_low = *low * quantity.scale;
  if (auto const high = row.number("interval_high_s")) point.y_high = *high * quantity.scale;
  return point;
}

/// Numbers that span more than a factor of eight are read by their ratios.
bool spans_orders(Lines const& lines) {
  auto least = std::numeric_limits<double>::max();
  auto most = 0.0;
  for (auto const& [name, points] : lines) {
    least = std::min(least, points.begin()->first);
    most = std::max(most, points.rbegin()->first);
  }
  return least > 0 && most / least >= 8;
}

reports::Chart chart_of(Results const& results, Lines const& lines, Path const& axis, Quantity const& quantity) {
  auto chart = reports::Chart{.id = fmt::format("sweep-{}-{}", axis.place, quantity.figure),
                              .title = fmt::format("{} against {}", quantity.name, axis.name)};
  chart.x = {.name = axis.name, .unit = axis.unit, .is_logarithmic = spans_orders(lines)};
  chart.y = {.name = std::string{quantity.name}, .unit = quantity.unit};
  for (auto const& [name, points] : lines) {
    auto series = reports::Series{.name = name};
    for (auto const& [x, row] : points)
      if (row->number(quantity.figure)) series.points.push_back(point_of(*row, x, quantity, results));
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

/// The lines whose best point is best, in the order of their names.
Lines best_lines(Lines lines) {
  while (lines.size() > kMostLines) {
    auto const best_of = [](auto const& line) {
      auto best = 0.0;
      for (auto const& [x, row] : line.second) best = std::max(best, *row->number("tokens_per_s_per_gpu"));
      return best;
    };
    auto const worst = std::ranges::min_element(lines, {}, best_of);
    lines.erase(worst);
  }
  return lines;
}

reports::PageTable best_table(Results const& results) {
  auto rows = std::vector<Row const*>{};
  for (auto const& row : results.rows)
    if (row.status == sweep::Status::kOk) rows.push_back(&row);
  std::ranges::stable_sort(rows, [](Row const* a, Row const* b) { return is_better(*a, *b); });
  auto const rate = counted_in(results) + "/s";
  auto table = reports::PageTable{.title = fmt::format("Best by {} and GPU", rate), .headers = {"point"}};
  table.headers.insert(table.headers.end(), results.manifest.paths.begin(), results.manifest.paths.end());
  for (auto const& header :
       {std::string{"step time"}, rate, rate + "/GPU", std::string{"MFU"}, std::string{"peak memory"}})
    table.headers.push_back(header);
  for (std::size_t i = 0; i < std::min(rows.size(), kBestRows); ++i) {
    auto& cells = table.rows.emplace_back();
    auto const& row = *rows[i];
    cells.push_back(reports::whole_text(row.point));
    for (auto const& setting : row.settings) cells.push_back(text_of(setting));
    cells.push_back(reports::time_text(stated_time(Seconds{*row.number("step_time_s")})));
    cells.push_back(reports::count_text(*row.number("tokens_per_s")));
    cells.push_back(reports::count_text(*row.number("tokens_per_s_per_gpu")));
    cells.push_back(reports::percent_text(row.number("mfu")));
    cells.push_back(reports::memory_text(Bytes{static_cast<std::int64_t>(*row.number("peak_memory_bytes"))}));
  }
  return table;
}

/// A reason without its numbers: what points have in common that have it from different places.
std::string kind_of(std::string_view reason) {
  auto kind = std::string{};
  for (auto const c : reason) {
    auto const is_of_number = (c >= '0' && c <= '9') || c == '.' || c == ',';
    if (!is_of_number)
      kind += c;
    else if (!kind.ends_with('0'))
      kind += '0';
  }
  return kind;
}

/// Why points have no answer: each reason once, as its first point says it, the most frequent first.
reports::PageTable reasons_table(Results const& results) {
  struct Reason {
    Row const* first = nullptr;
    std::int64_t points = 0;
  };
  auto found = std::map<std::pair<sweep::Status, std::string>, Reason>{};
  for (auto const& row : results.rows) {
    if (row.status == sweep::Status::kOk) continue;
    auto& reason = found[{row.status, kind_of(row.reason)}];
    if (reason.points++ == 0) reason.first = &row;
  }
  auto reasons = std::vector<Reason>{};
  for (auto const& [kind, reason] : found) reasons.push_back(reason);
  std::ranges::sort(reasons, {}, [](Reason const& each) { return std::pair{-each.points, each.first->point}; });
  auto table = reports::PageTable{.headers = {"first at point", "points", "status", "reason of the first"}};
  for (std::size_t i = 0; i < std::min(reasons.size(), kBestRows); ++i)
    table.rows.push_back({reports::whole_text(reasons[i].first->point), reports::whole_text(reasons[i].points),
                          std::string{name_of(reasons[i].first->status)}, reasons[i].first->reason});
  if (auto const more = reasons.size() - table.rows.size(); more > 0)
    table.title = fmt::format("The {} most frequent reasons; {} more are in the results", kBestRows, more);
  return table;
}

std::string counts_text(Results const& results) {
  auto counts = std::array<std::int64_t, kEnumSize<sweep::Status>>{};
  for (auto const& row : results.rows) ++counts[static_cast<std::size_t>(row.status)];
  auto text = fmt::format("{} points", results.rows.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) text += fmt::format(", {} {}", counts[i], name_of(static_cast<sweep::Status>(i)));
  if (auto const left_out = results.manifest.points - static_cast<std::int64_t>(results.rows.size());
      results.is_finished && left_out > 0)
    text += fmt::format(", {} left out by constraints", left_out);
  return text + (results.is_finished ? "." : ". The sweep is not finished.");
}

/// "A sweep of cluster.nodes, strategy.name and 2 more"
std::string title_of(std::vector<std::string> const& paths) {
  constexpr std::size_t kNamed = 3;
  auto title = std::string{"A sweep"};
  for (std::size_t i = 0; i < std::min(paths.size(), kNamed); ++i)
    title += (i == 0 ? " of " : i + 1 == paths.size() ? " and " : ", ") + paths[i];
  if (paths.size() > kNamed) title += fmt::format(" and {} more", paths.size() - kNamed);
  return title;
}

void add_axis(reports::Page& page, Results const& results, std::vector<Path> const& paths, Path const& axis) {
  auto const all = lines_over(results, paths, axis);
  if (all.empty()) return;
  auto const lines = best_lines(all);
  auto section = reports::Section{.title = "Against " + axis.name};
  section.text = fmt::format("Where points differ in another number too, the one with the most {}/s and GPU is shown.",
                             counted_in(results));
  if (!axis.partners.empty()) section.text += fmt::format(" With it change {}.", fmt::join(axis.partners, ", "));
  if (lines.size() < all.size())
    section.text += fmt::format(" Shown are the best {} of {} lines.", lines.size(), all.size());
  for (auto const& quantity : quantities_of(results))
    section.charts.push_back(chart_of(results, lines, axis, quantity));
  page.sections.push_back(std::move(section));
}

}  // namespace

reports::Page sweep_page(Results const& results) {
  auto page = reports::Page{.title = title_of(results.manifest.paths), .text = counts_text(results)};
  page.facts.emplace_back("made by", "twinstep " + results.manifest.version);
  for (auto const& row : results.rows)
    if (row.status == sweep::Status::kOk) {
      page.facts.emplace_back("calibration", row.text("calibration"));
      break;
    }
  auto const is_ok = [](Row const& row) { return row.status == sweep::Status::kOk; };
  if (std::ranges::any_of(results.rows, is_ok))
    page.sections.push_back({.title = "The best points", .tables = {best_table(results)}});
  auto const paths = paths_of(results);
  for (auto const& axis : axes_of(results, paths)) add_axis(page, results, paths, axis);
  if (!std::ranges::all_of(results.rows, is_ok))
    page.sections.push_back({.title = "Points without an answer", .tables = {reasons_table(results)}});
  return page;
}

}  // namespace twinstep::pages
