#include "explore/sweep/row.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::explore::sweep {
namespace {

Cell cell(std::string const& text) {
  return text;
}
Cell cell(double number) {
  return number;
}
Cell cell(std::int64_t number) {
  return number;
}
Cell cell(Bytes bytes) {
  return bytes.count();
}
/// SQLite has whole numbers of 63 bits; a larger one becomes a real one.
Cell cell(TotalBytes total) {
  auto const bytes = total.bytes();
  return bytes ? cell(*bytes) : cell(static_cast<double>(total.count()));
}
Cell cell(Duration time) {
  return to_seconds(time).count();
}
template <class T>
Cell cell(std::optional<T> const& maybe) {
  return maybe ? cell(*maybe) : Cell{};
}

std::string memory_json(reports::BytesByCategory const& held) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_object();
  for (std::size_t i = 0; i < held.size(); ++i)
    if (auto const category = static_cast<program::MemoryCategory>(i);
        category != program::MemoryCategory::kFragmentation)
      json.member(name_of(category), held[i]);
  json.end_object();
  return std::move(json).text();
}

std::string breakdown_json(std::vector<reports::BreakdownEntry> const& breakdown) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_array();
  for (auto const& entry : breakdown) {
    json.begin_object();
    json.member("name", breakdown_name(entry));
    json.member("seconds", entry.time);
    json.end_object();
  }
  json.end_array();
  return std::move(json).text();
}

std::string shown(Cell const& cell) {
  struct Show {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(std::int64_t whole) const { return fmt::format("{}", whole); }
    std::string operator()(double real) const { return fmt::format("{}", real); }
    std::string operator()(std::string const& text) const { return twinstep::quoted(text); }
  };
  return std::visit(Show{}, cell);
}

/// What a figure has to be, where it is not.
std::optional<std::string_view> expected(Cell const& cell, Column const& column) {
  auto const* whole = std::get_if<std::int64_t>(&cell);
  auto const* real = std::get_if<double>(&cell);
  auto const* text = std::get_if<std::string>(&cell);
  auto const unless = [](bool is_right, std::string_view what) {
    return is_right ? std::nullopt : std::optional{what};
  };
  if (column.may_be_absent && std::holds_alternative<std::monostate>(cell)) return std::nullopt;
  switch (column.kind) {
    case Column::Kind::kInteger: return unless(whole != nullptr && *whole >= 0, "a whole number from 0 on");
    case Column::Kind::kReal:
      return unless(real != nullptr && std::isfinite(*real) && *real >= 0, "a number from 0 on");
    case Column::Kind::kBoolean: return unless(whole != nullptr && (*whole == 0 || *whole == 1), "0 or 1");
    case Column::Kind::kText:
    case Column::Kind::kJson: return unless(text != nullptr, "a text");
  }
  return std::nullopt;
}

std::string in_column(std::string_view name, Cell const& cell, std::string_view wanted) {
  return fmt::format("column {}: found {}, expected {}", twinstep::quoted(name), shown(cell), wanted);
}

}  // namespace

std::size_t figure_index(std::string_view name) {
  auto const found = std::ranges::find(kFigures, name, &Column::name);
  TWINSTEP_CHECK(found != kFigures.end(), "a figure is asked for by its name");
  return static_cast<std::size_t>(found - kFigures.begin());
}

std::optional<double> Row::number(std::string_view figure) const {
  auto const index = figure_index(figure);
  if (index >= figures.size()) return std::nullopt;
  if (auto const* whole = std::get_if<std::int64_t>(&figures[index])) return static_cast<double>(*whole);
  if (auto const* real = std::get_if<double>(&figures[index])) return *real;
  return std::nullopt;
}

std::string_view Row::text(std::string_view figure) const {
  auto const index = figure_index(figure);
  auto const* text = index < figures.size() ? std::get_if<std::string>(&figures[index]) : nullptr;
  return text == nullptr ? std::string_view{} : std::string_view{*text};
}

std::vector<Cell> cells_of(Row const& row) {
  auto cells = std::vector<Cell>{row.point};
  cells.insert(cells.end(), row.settings.begin(), row.settings.end());
  cells.insert(cells.end(), {std::string{name_of(row.status)}, row.reason});
  cells.insert(cells.end(), row.figures.begin(), row.figures.end());
  if (row.figures.empty()) cells.resize(cells.size() + kFigures.size());
  return cells;
}

std::vector<Cell> figures_of(reports::Summary const& summary) {
  auto const capacity = summary.capacity > Bytes{} ? std::optional{summary.capacity} : std::nullopt;
  auto const reserved = summary.allocator ? std::optional{summary.reserved_peak.total()} : std::nullopt;
  auto figures = std::vector<Cell>{
      cell(summary.scenario),
      cell(summary.world_size),
      cell(summary.tokens),
      cell(std::string{summary.counted}),
      cell(summary.step_time),
      summary.interval ? cell(summary.interval->low) : Cell{},
      summary.interval ? cell(summary.interval->high) : Cell{},
      cell(summary.token_rate.count()),
      cell(summary.token_rate_per_gpu.count()),
      cell(summary.model_rate_per_gpu.count() / 1e12),
      cell(summary.mfu),
      cell(summary.hfu),
      cell(std::int64_t{summary.fits}),
      cell(summary.peak.total()),
      cell(reserved),
      cell(capacity),
      cell(summary.host_peak),
      cell(summary.nvme_peak),
      cell(summary.exposed_communication),
      cell(summary.communication),
      cell(summary.wire.intra),
      cell(summary.wire.inter),
      cell(summary.events),
      cell(summary.calibration),
      cell(memory_json(summary.peak.held)),
      cell(breakdown_json(summary.breakdown)),
  };
  TWINSTEP_CHECK(figures.size() == kFigures.size(), "every figure has a cell");
  return figures;
}

std::optional<std::string> damage_of(std::span<Cell const> cells, std::vector<std::string> const& paths,
                                     std::int64_t points) {
  auto const* point = std::get_if<std::int64_t>(&cells.front());
  if (point == nullptr || *point < 0 || *point >= points)
    return in_column("point", cells.front(), fmt::format("a whole number from 0 to {}", points - 1));
  auto const& status_cell = cells[1 + paths.size()];
  auto const* status_text = std::get_if<std::string>(&status_cell);
  auto const status = status_text == nullptr ? std::nullopt : find_enum<Status>(*status_text);
  if (!status) return in_column("status", status_cell, fmt::format("one of {}", fmt::join(all_names<Status>(), ", ")));
  auto const& reason = cells[2 + paths.size()];
  auto const* reason_text = std::get_if<std::string>(&reason);
  if (reason_text == nullptr || reason_text->empty() != (*status == Status::kOk))
    return in_column("reason", reason, *status == Status::kOk ? "an empty text" : "why");
  auto const has_figures = *status == Status::kOk || *status == Status::kDoesNotFit;
  for (std::size_t i = 0; i < kFigures.size(); ++i) {
    auto const& cell = cells[3 + paths.size() + i];
    if (!has_figures && !std::holds_alternative<std::monostate>(cell))
      return in_column(kFigures[i].name, cell, fmt::format("nothing where the status is {}", name_of(*status)));
    if (auto const wanted = has_figures ? expected(cell, kFigures[i]) : std::nullopt)
      return in_column(kFigures[i].name, cell, *wanted);
  }
  return std::nullopt;
}

}  // namespace twinstep::explore::sweep
