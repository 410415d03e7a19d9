#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "reports/render/page_files.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

constexpr std::string_view kHeader = "section,chart,series,x,x_end,y,low,high,x_unit,y_unit,note\n";
using Line = std::array<std::string, 11>;

/// A row is a line, and what prints it stays a terminal: control characters are escaped.
std::string field(std::string_view raw) {
  auto text = one_line(raw);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  auto out = std::string{'"'};
  for (auto const character : text) {
    if (character == '"') out += '"';
    out += character;
  }
  return out + '"';
}

void add(std::string& csv, Line const& line) {
  for (std::size_t i = 0; i < line.size(); ++i) csv += (i == 0 ? "" : ",") + field(line[i]);
  csv += '\n';
}

/// A place on an axis: the shortest number that reads back the same, or the name of the category.
std::string place(double value, Axis const& axis) {
  auto const index = static_cast<std::size_t>(value);
  return index < axis.categories.size() ? axis.categories[index] : fmt::format("{}", value);
}

std::string number(std::optional<double> maybe) {
  return maybe ? fmt::format("{}", *maybe) : std::string{};
}

void add_chart(std::string& csv, Section const& section, Chart const& chart) {
  for (auto const& series : chart.series)
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      auto const& point = series.points[i];
      add(csv, {section.title, chart.title, series.name, place(point.x, chart.x),
                i < series.x_ends.size() ? fmt::format("{}", series.x_ends[i]) : "", place(point.y, chart.y),
                number(point.y_low), number(point.y_high), chart.x.unit, chart.y.unit, point.note});
    }
}

void add_table(std::string& csv, Section const& section, PageTable const& table) {
  for (auto const& row : table.rows)
    for (std::size_t i = 1; i < row.size() && i < table.headers.size(); ++i)
      add(csv, {section.title, table.title, table.headers[i], row.front(), "", row[i], "", "", "", "", ""});
}

}  // namespace

std::string page_csv(Page const& page) {
  auto csv = std::string{kHeader};
  for (auto const& section : page.sections) {
    for (auto const& chart : section.charts) add_chart(csv, section, chart);
    for (auto const& table : section.tables) add_table(csv, section, table);
  }
  return csv;
}

}  // namespace twinstep::reports
