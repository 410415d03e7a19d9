#include "explore/sweep/damage.hpp"

#include <cmath>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {
namespace {

std::string shown(Cell const& cell) {
  struct Show {
    std::string operator()(std::monostate) const { return "nothing"; }
    std::string operator()(std::int64_t whole) const { return fmt::format("{}", whole); }
    std::string operator()(double real) const { return fmt::format("{}", real); }
    std::string operator()(std::string const& text) const { return twinstep::quoted(text); }
  };
  return std::visit(Show{}, cell);
}

bool is_document(std::string const& text) {
  try {
    static_cast<void>(io::parse({"", text}));
    return true;
  } catch (InputError const&) {
    return false;
  }
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
    case Column::Kind::kText: return unless(text != nullptr, "a text");
    case Column::Kind::kJson: return unless(text != nullptr && is_document(*text), "a JSON document");
  }
  return std::nullopt;
}

std::string in_column(std::string_view name, Cell const& cell, std::string_view wanted) {
  return fmt::format("column {}: found {}, expected {}", twinstep::quoted(name), shown(cell), wanted);
}

}  // namespace

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
