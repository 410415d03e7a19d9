#include "app/sweep/results.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/sweep/checksum.hpp"
#include "app/sweep/damage.hpp"
#include "app/sweep/database.hpp"
#include "app/sweep/layout.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app::sweep {
namespace {

std::vector<Cell> cells_of(Statement const& select, std::size_t count) {
  auto cells = std::vector<Cell>{};
  cells.reserve(count);
  for (std::size_t i = 0; i < count; ++i) cells.push_back(select.cell(static_cast<int>(i)));
  return cells;
}

/// A row from its cells, which are those that were written.
Row row_of(std::vector<Cell> cells, std::size_t path_count) {
  auto row = Row{.point = std::get<std::int64_t>(cells[0])};
  auto const settings = cells.begin() + 1;
  auto const status = settings + static_cast<std::ptrdiff_t>(path_count);
  row.settings.assign(settings, status);
  row.status = find_enum<Status>(std::get<std::string>(status[0])).value();
  row.reason = std::get<std::string>(status[1]);
  if (row.status == Status::kOk || row.status == Status::kDoesNotFit) row.figures.assign(status + 2, cells.end() - 1);
  return row;
}

/// Gives `each` every row in order, once it is sure of it.
class Reader {
 public:
  Reader(std::string const& path, Header const& header) : path_{&path}, header_{&header} {}

  void read(Database& file, std::function<void(Row const&)> const& each) {
    auto const& paths = header_->manifest.paths;
    auto select = Statement{file, fmt::format("SELECT {} FROM points ORDER BY point", columns_sql(paths, false))};
    while (select.step()) {
      auto cells = cells_of(select, column_count(paths));
      check(cells);
      each(row_of(std::move(cells), paths.size()));
      ++count_;
    }
    if (header_->rows && *header_->rows != count_)
      fail_damaged(*path_, fmt::format("found {} rows, expected {}", count_, *header_->rows));
  }

 private:
  void check(std::vector<Cell> const& cells) {
    auto const written = std::span{cells}.first(cells.size() - 1);
    auto const& paths = header_->manifest.paths;
    auto const* point = std::get_if<std::int64_t>(&cells.front());
    auto const is_next = point != nullptr && *point > last_ && *point < header_->manifest.points;
    if (!is_next || cells.back() != Cell{checksum_of(written)})
      fail_damaged(*path_, fmt::format("row {}, {}", count_ + 1,
                                       damage_of(written, paths, header_->manifest.points)
                                           .value_or("found values that its checksum does not fit")));
    last_ = *point;
  }

  std::string const* path_;
  Header const* header_;
  std::int64_t last_ = -1;
  std::int64_t count_ = 0;
};

void check_is_file(std::string const& path) {
  auto const fail = [&path](char const* found) {
    throw InputError{fmt::format("{}: {}; name one that `twinstep sweep --out` wrote", one_line(path), found)};
  };
  auto error = std::error_code{};
  if (!std::filesystem::exists(path, error)) fail("found no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail("found no regular file");
  if (std::filesystem::file_size(path, error) == 0) fail("found an empty file, expected results of a sweep");
}

/// The file, of which SQLite says that its own structure is whole.
Database open_whole(std::string const& path) {
  check_is_file(path);
  auto file = Database{path, Database::Access::kRead};
  file.execute("BEGIN");  // all that is read is of one moment
  if (auto const found = file.first("PRAGMA quick_check(1)"); found != Cell{"ok"})
    fail_damaged(path, "found pages that do not belong together");
  return file;
}

}  // namespace

std::optional<std::size_t> Results::setting_index(std::string_view path) const {
  auto const found = std::ranges::find(manifest.paths, path);
  if (found == manifest.paths.end()) return std::nullopt;
  return static_cast<std::size_t>(found - manifest.paths.begin());
}

Results read_results(std::string const& path, std::function<void(Row const&)> const& each) {
  auto file = open_whole(path);
  auto const header = read_header(file, path);
  Reader{path, header}.read(file, each);
  return {.manifest = header.manifest, .is_finished = header.rows.has_value(), .rows = {}};
}

Manifest read_manifest(std::string const& path) {
  auto file = open_whole(path);
  return read_header(file, path).manifest;
}

Results read_results(std::string const& path) {
  auto rows = std::vector<Row>{};
  auto results = read_results(path, [&rows](Row const& row) { rows.push_back(row); });
  results.rows = std::move(rows);
  return results;
}

}  // namespace twinstep::app::sweep
