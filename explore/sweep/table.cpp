#include "explore/sweep/table.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::explore::sweep {

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

}  // namespace twinstep::explore::sweep
