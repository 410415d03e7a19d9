#include "explore/sweep/results.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "explore/sweep/checksum.hpp"
#include "explore/sweep/damage.hpp"
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

  /// Where the reading of all rows has come to.
  struct Progress {
    std::int64_t last = -1;  ///< point
    std::int64_t rows = 0;
  };
  void check(std::vector<Cell> const& cells, Progress const& before) const;

  std::string path;
  Database file;
  Header header;
};

void ResultsFile::Parts::check(std::vector<Cell> const& cells, Progress const& before) const {
  auto const written = std::span{cells}.first(cells.size() - 1);
  auto const& manifest = header.manifest;
  auto const* point = std::get_if<std::int64_t>(&cells.front());
  auto const is_next = point != nullptr && *point > before.last && *point < manifest.points;
  if (!is_next || cells.back() != Cell{checksum_of(written)})
    fail_damaged(path, fmt::format("row {}, {}", before.rows + 1,
                                   damage_of(written, manifest.paths, manifest.points)
                                       .value_or("found values that its checksum does not fit")));
}

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
  auto const& paths = manifest().paths;
  auto select = Statement{parts_->file, fmt::format("SELECT {} FROM points ORDER BY point", columns_sql(paths, false))};
  auto progress = Parts::Progress{};
  while (select.step()) {
    auto cells = cells_of(select, column_count(paths));
    parts_->check(cells, progress);
    auto const row = row_of(std::move(cells), paths.size());
    each(row);
    progress = {row.point, progress.rows + 1};
  }
  if (auto const expected = parts_->header.rows; expected && *expected != progress.rows)
    fail_damaged(path(), fmt::format("found {} rows, expected {}", progress.rows, *expected));
}

Results read_results(std::string const& path) {
  auto file = ResultsFile{path};
  auto results = Results{.manifest = file.manifest(), .is_finished = file.is_finished(), .rows = {}};
  file.for_each_row([&results](Row const& row) { results.rows.push_back(row); });
  return results;
}

}  // namespace twinstep::explore::sweep
