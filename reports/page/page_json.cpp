#include "reports/render/page_files.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

/// What is empty or absent is left out: whoever reads it takes it as such.
void write_some(JsonWriter& json, std::string_view key, std::string const& text) {
  if (!text.empty()) json.member(key, text);
}
void write_some(JsonWriter& json, std::string_view key, std::optional<double> number) {
  if (number) json.member(key, *number);
}
template <class T>
void write_some(JsonWriter& json, std::string_view key, std::vector<T> const& values) {
  if (!values.empty()) write_values(json, key, values);
}
template <class Items, class Write>
void write_some(JsonWriter& json, std::string_view key, Items const& items, Write const& write) {
  if (!items.empty()) write_array(json, key, items, write);
}

void write_named(JsonWriter& json, std::string_view key,
                 std::vector<std::pair<std::string, std::string>> const& entries) {
  write_some(json, key, entries, [](JsonWriter& out, auto const& entry) {
    out.begin_object();
    out.member("name", entry.first);
    out.member("value", entry.second);
    out.end_object();
  });
}

void write_axis(JsonWriter& json, std::string_view key, Axis const& axis) {
  json.key(key);
  json.begin_object();
  json.member("name", axis.name);
  write_some(json, "unit", axis.unit);
  if (axis.is_logarithmic) json.member("is_logarithmic", true);
  write_some(json, "categories", axis.categories);
  json.end_object();
}

void write_point(JsonWriter& json, ChartPoint const& point) {
  json.begin_object();
  json.member("x", point.x);
  json.member("y", point.y);
  write_some(json, "y_low", point.y_low);
  write_some(json, "y_high", point.y_high);
  write_some(json, "note", point.note);
  json.end_object();
}

void write_series(JsonWriter& json, Series const& series) {
  json.begin_object();
  json.member("name", series.name);
  json.member("style", name_of(series.style));
  write_array(json, "points", series.points, write_point);
  write_some(json, "x_ends", series.x_ends);
  json.end_object();
}

void write_mark(JsonWriter& json, Mark const& mark) {
  json.begin_object();
  json.member("at", mark.at);
  write_some(json, "end", mark.end);
  json.member("text", mark.text);
  json.end_object();
}

void write_chart(JsonWriter& json, Chart const& chart) {
  json.begin_object();
  json.member("id", chart.id);
  json.member("title", chart.title);
  write_some(json, "text", chart.text);
  write_some(json, "fold", chart.fold);
  write_axis(json, "x", chart.x);
  write_axis(json, "y", chart.y);
  if (chart.is_stacked) json.member("is_stacked", true);
  write_array(json, "series", chart.series, write_series);
  write_some(json, "x_marks", chart.x_marks, write_mark);
  write_some(json, "y_marks", chart.y_marks, write_mark);
  json.end_object();
}

void write_table(JsonWriter& json, PageTable const& table) {
  json.begin_object();
  write_some(json, "title", table.title);
  write_values(json, "headers", table.headers);
  write_array(json, "rows", table.rows, [](JsonWriter& out, std::vector<std::string> const& row) {
    out.begin_array();
    for (auto const& cell : row) out.value(cell);
    out.end_array();
  });
  write_some(json, "fold", table.fold);
  json.end_object();
}

void write_section(JsonWriter& json, Section const& section) {
  json.begin_object();
  json.member("title", section.title);
  write_some(json, "text", section.text);
  write_some(json, "tables", section.tables, write_table);
  write_some(json, "charts", section.charts, write_chart);
  write_some(json, "notes", section.notes);
  write_some(json, "code", section.code);
  json.end_object();
}

}  // namespace

std::string page_json(Page const& page) {
  auto json = JsonWriter{};
  json.begin_object();
  json.member("title", page.title);
  write_some(json, "text", page.text);
  write_named(json, "headlines", page.headlines);
  write_named(json, "facts", page.facts);
  write_some(json, "commands", page.commands);
  write_some(json, "warnings", page.warnings);
  write_array(json, "sections", page.sections, write_section);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace twinstep::reports
