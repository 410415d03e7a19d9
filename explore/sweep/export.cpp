#include "explore/sweep/export.hpp"

#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::explore::sweep {
namespace {

std::string number_text(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : std::string{};
}

/// A cell without quotes; empty where it is absent.
std::string plain_text(Cell const& cell, Column::Kind kind) {
  if (auto const* text = std::get_if<std::string>(&cell)) return *text;
  if (auto const* real = std::get_if<double>(&cell)) return number_text(*real);
  auto const* whole = std::get_if<std::int64_t>(&cell);
  if (whole == nullptr) return {};
  if (kind == Column::Kind::kBoolean) return *whole != 0 ? "true" : "false";
  return fmt::format("{}", *whole);
}

/// A row is a line: control characters are escaped. JSON Lines have them as they are.
std::string csv_field(std::string const& raw) {
  auto text = one_line(raw);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  auto quoted_text = std::string{'"'};
  for (auto const c : text) quoted_text += c == '"' ? std::string{"\"\""} : std::string{c};
  return quoted_text + '"';
}

void write_cell(io::JsonWriter& json, Cell const& cell, Column::Kind kind) {
  auto const text = plain_text(cell, kind);
  if (text.empty() && !std::holds_alternative<std::string>(cell)) return json.value(nullptr);
  if (std::holds_alternative<std::string>(cell) && kind != Column::Kind::kJson) return json.value(text);
  json.raw(text);
}

/// A setting that is a text stands for itself, unless it is the text of an object, a list or a boolean.
Column::Kind kind_of_setting(Cell const& cell) {
  auto const* text = std::get_if<std::string>(&cell);
  auto const is_json =
      text != nullptr && (text->starts_with('{') || text->starts_with('[') || *text == "true" || *text == "false");
  return is_json ? Column::Kind::kJson : Column::Kind::kText;
}

/// Absent cells for a row that was not simulated.
Cell const& figure(Row const& row, std::size_t index) {
  static auto const none = Cell{};
  return row.figures.empty() ? none : row.figures[index];
}

}  // namespace

std::string csv_header(std::vector<std::string> const& paths) {
  auto line = std::string{"point"};
  for (auto const& path : paths) line += "," + csv_field(path);
  line += ",status,reason";
  for (auto const& column : kFigures) line += fmt::format(",{}", column.name);
  return line + "\n";
}

std::string csv_line(Row const& row) {
  auto line = fmt::format("{}", row.point);
  for (auto const& cell : row.settings) line += "," + csv_field(plain_text(cell, Column::Kind::kText));
  line += fmt::format(",{},{}", name_of(row.status), csv_field(row.reason));
  for (std::size_t i = 0; i < kFigures.size(); ++i)
    line += "," + csv_field(plain_text(figure(row, i), kFigures[i].kind));
  return line + "\n";
}

void write_settings(io::JsonWriter& json, Row const& row, std::vector<std::string> const& paths) {
  json.begin_object();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    json.key(paths[i]);
    write_cell(json, row.settings[i], kind_of_setting(row.settings[i]));
  }
  json.end_object();
}

std::string json_line(Row const& row, std::vector<std::string> const& paths) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_object();
  json.member("point", row.point);
  json.key("settings");
  write_settings(json, row, paths);
  json.member("status", name_of(row.status));
  json.member("reason", row.reason.empty() ? std::nullopt : std::optional{row.reason});
  for (std::size_t i = 0; i < kFigures.size(); ++i) {
    json.key(kFigures[i].name);
    write_cell(json, figure(row, i), kFigures[i].kind);
  }
  json.end_object();
  return std::move(json).finish();
}

std::string setting_text(Cell const& setting) {
  return plain_text(setting, Column::Kind::kText);
}

void export_csv(ResultsFile& results, std::ostream& out) {
  out << csv_header(results.manifest().paths);
  results.for_each_row([&out](Row const& row) { out << csv_line(row); });
}

void export_json_lines(ResultsFile& results, std::ostream& out) {
  results.for_each_row([&](Row const& row) { out << json_line(row, results.manifest().paths); });
}

}  // namespace twinstep::explore::sweep
