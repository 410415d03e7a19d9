#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "reports/pages/pages.hpp"
#include "sim/io/document_text.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

using sweep::Cell;
using sweep::Column;

/// Whole numbers that a double holds exactly.
constexpr auto kExact = 9e15;

/// A document on one line: no text in JSON holds a line break.
std::string on_one_line(io::Node const& node) {
  auto text = std::string{};
  for (auto const c : io::document_text(node)) {
    if (c == '\n') continue;
    if (c == ' ' && text.ends_with(' ')) continue;
    text += c;
  }
  return text;
}

Cell cell_of(io::Node const& node) {
  switch (node.type()) {
    case io::Node::Type::kNull: return std::monostate{};
    case io::Node::Type::kBoolean: return std::string{node.boolean() ? "true" : "false"};
    case io::Node::Type::kString: return std::string{node.string()};
    case io::Node::Type::kArray:
    case io::Node::Type::kObject: return on_one_line(node);
    case io::Node::Type::kNumber: break;
  }
  auto const number = node.number();
  if (number == std::trunc(number) && std::abs(number) < kExact) return static_cast<std::int64_t>(number);
  return number;
}

Cell figure_of(io::Node const& row, Column const& column) {
  auto const found = row.find(column.name);
  if (!found) return std::monostate{};
  switch (column.kind) {
    case Column::Kind::kInteger: return found->integer();
    case Column::Kind::kReal: return found->number();
    case Column::Kind::kBoolean: return std::int64_t{found->boolean()};
    case Column::Kind::kText: return std::string{found->string()};
    case Column::Kind::kJson: return on_one_line(*found);
  }
  return std::monostate{};
}

sweep::Row row_of(io::Node const& line, std::vector<std::string> const& paths) {
  auto row = sweep::Row{.point = line.at("point").integer()};
  auto const settings = line.at("settings");
  for (auto const& path : paths)  // null where the point does not say it
    row.settings.push_back(settings.has(path) && !settings.find(path) ? Cell{} : cell_of(settings.at(path)));
  row.status = line.at("status").word<sweep::Status>();
  if (auto const reason = line.find("reason")) row.reason = reason->string();
  for (auto const& column : sweep::kFigures) row.figures.push_back(figure_of(line, column));
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();  // how many there are it does not say
  if (auto const damage = sweep::damage_of(sweep::cells_of(row), paths, kAny))
    line.fail(*damage, "export the sweep again");
  return row;
}

}  // namespace

bool is_sweep_lines(std::string_view text) {
  return text.starts_with("{\"point\":");
}

sweep::Results read_sweep_lines(io::Source const& source) {
  auto results = sweep::Results{.is_finished = true};
  auto number = 0;
  for (auto rest = std::string_view{source.text}; !rest.empty();) {
    auto const end = std::min(rest.find('\n'), rest.size());
    auto const text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (text.empty()) continue;
    auto const line = io::parse({fmt::format("{}:{}", source.name, number), std::string{text}, false});
    if (results.rows.empty())
      for (auto const& [path, value] : line.at("settings").members()) results.manifest.paths.emplace_back(path);
    results.rows.push_back(row_of(line, results.manifest.paths));
  }
  results.manifest.points = static_cast<std::int64_t>(results.rows.size());
  return results;
}

}  // namespace twinstep::pages
