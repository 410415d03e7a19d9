#include "explore/sweep/results.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "explore/sweep/database.hpp"
#include "explore/sweep/layout.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore::sweep {
namespace {

std::vector<Cell> cells_of(Statement const& select, std::size_t count) {
  auto cells = std::vector<Cell>{};
  cells.reserve(count);
  for (std::size_t i = 0; i < count; ++i) cells.push_back(select.cell(static_cast<int>(i)));
  return cells;
}

/// A row from its cells, which it may hold.
Row row_of(std::vector<Cell> cells, std::size_t path_count) {
  auto row = Row{.point = std::get<std::int64_t>(cells[0])};
  auto const settings = cells.begin() + 1;
  auto const status = settings + static_cast<std::ptrdiff_t>(path_count);
  row.settings.assign(settings, status);
  row.status = find_enum<Status>(std::get<std::string>(status[0])).value();
  row.reason = std::get<std::string>(status[1]);
  if (row.status == Status::kOk || row.status == Status::kDoesNotFit) row.figures.assign(status + 2, cells.end());
  return row;
}

void check_is_file(std::string const& path) {
  auto const fail = [&path](char const* found) {
    throw InputError{fmt::format("{}: {}; name one that a sweep wrote", one_line(path), found)};
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
  if (file.first("PRAGMA quick_check(1)") != Cell{"ok"}) fail_damaged(path, "found pages that do not belong together");
  // SQLite reads zeros where the last page is cut; of one that is being written the rest may be beside it.
  auto const page = static_cast<std::uintmax_t>(std::get<std::int64_t>(file.first("PRAGMA page_size").value()));
  if (!std::filesystem::exists(path + "-wal") && std::filesystem::file_size(path) % page != 0)
    fail_damaged(path, "found a part of a page at its end");
  return file;
}

constexpr std::string_view kStart{"SQLite format 3\0", 16};

}  // namespace

std::optional<std::size_t> Results::setting_index(std::string_view path) const {
  auto const found = std::ranges::find(manifest.paths, path);
  if (found == manifest.paths.end()) return std::nullopt;
  return static_cast<std::size_t>(found - manifest.paths.begin());
}

bool are_results(std::string_view bytes) {
  return bytes.starts_with(kStart);
}

bool is_results_file(std::string const& path) {
  auto file = std::ifstream{path, std::ios::binary};
  auto start = std::array<char, kStart.size()>{};
  file.read(start.data(), start.size());
  return file && are_results({start.data(), start.size()});
}

struct ResultsFile::Parts {
  explicit Parts(std::string name) : path{std::move(name)}, file{open_whole(path)}, header{read_header(file, path)} {}

  std::string path;
  Database file;
  Header header;
};

ResultsFile::ResultsFile(std::string path) : parts_{std::make_unique<Parts>(std::move(path))} {}
ResultsFile::ResultsFile(ResultsFile&&) noexcept = default;
ResultsFile::~ResultsFile() = default;

std::string const& ResultsFile::path() const {
  return parts_->path;
}

Manifest const& ResultsFile::manifest() const {
  return parts_->header.manifest;
}

bool ResultsFile::is_finished() const {
  return parts_->header.rows.has_value();
}

void ResultsFile::for_each_row(std::function<void(Row const&)> const& each) {
  auto const& [version, sweep, paths, points] = manifest();
  auto select = Statement{parts_->file, fmt::format("SELECT {} FROM points ORDER BY point", columns_sql(paths))};
  auto rows = std::int64_t{0};
  while (select.step()) {
    ++rows;
    auto cells = cells_of(select, column_count(paths));
    if (auto const damage = damage_of(cells, paths, points))
      fail_damaged(path(), fmt::format("row {}, {}", rows, *damage));
    each(row_of(std::move(cells), paths.size()));
  }
  if (auto const expected = parts_->header.rows; expected && *expected != rows)
    fail_damaged(path(), fmt::format("found {} rows, expected {}", rows, *expected));
}

Results read_results(std::string const& path) {
  auto file = ResultsFile{path};
  auto results = Results{.manifest = file.manifest(), .is_finished = file.is_finished(), .rows = {}};
  file.for_each_row([&results](Row const& row) { results.rows.push_back(row); });
  return results;
}

}  // namespace twinstep::explore::sweep
