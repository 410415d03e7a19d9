#include "app/sweep/results.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/sweep/database.hpp"
#include "app/sweep/file_lock.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"

namespace twinstep::app::sweep {
namespace {

constexpr auto kApplicationId = 0x54575357;  ///< "TWSW": what SQLite's header says of the file's kind
constexpr auto kLayout = 1;                  ///< of the tables; SQLite's user_version

/// `name` as SQL writes names.
std::string sql_name(std::string_view name) {
  auto text = std::string{'"'};
  for (auto const c : name) text += c == '"' ? std::string{"\"\""} : std::string{c};
  return text + '"';
}

/// The names of the columns of "points" in order, with their types where `with_types`.
std::string columns(std::vector<std::string> const& paths, bool with_types) {
  auto text = std::string{with_types ? "point INTEGER PRIMARY KEY" : "point"};
  for (auto const& path : paths) text += ", " + sql_name(path);
  text += with_types ? ", status TEXT NOT NULL, reason TEXT NOT NULL" : ", status, reason";
  constexpr auto kTypes = std::to_array<std::string_view>({"INTEGER", "REAL", "INTEGER", "TEXT", "TEXT"});
  for (auto const& figure : kFigures) {
    text += fmt::format(", {}", figure.name);
    if (with_types) text += fmt::format(" {}", kTypes[static_cast<std::size_t>(figure.kind)]);
  }
  return text;
}

std::string list_text(std::vector<std::string> const& texts) {
  auto list = std::vector<std::string>{};
  for (auto const& text : texts) list.push_back(io::json_string(text));
  return fmt::format("[{}]", fmt::join(list, ", "));
}

void write_manifest(Database& file, Manifest const& manifest) {
  file.execute("CREATE TABLE manifest (name TEXT PRIMARY KEY, value) WITHOUT ROWID");
  auto insert = Statement{file, "INSERT INTO manifest VALUES (?, ?)"};
  auto const add = [&insert](std::string name, Cell const& value) {
    auto const cell = Cell{std::move(name)};
    insert.bind(1, cell);
    insert.bind(2, value);
    insert.step();
  };
  add("version", manifest.version);
  add("sweep", manifest.sweep);
  add("paths", list_text(manifest.paths));
  add("points", manifest.points);
  add("is_finished", std::int64_t{0});
}

void make_tables(Database& file, Manifest const& manifest) {
  file.execute("BEGIN");
  write_manifest(file, manifest);
  file.execute(fmt::format("CREATE TABLE points ({})", columns(manifest.paths, true)));
  file.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT", kApplicationId, kLayout));
}

template <class T>
T value_of(Database& file, std::string const& path, char const* name) {
  auto const cell = file.first(fmt::format("SELECT value FROM manifest WHERE name = '{}'", name));
  if (cell)
    if (auto const* value = std::get_if<T>(&*cell)) return *value;
  throw InputError{
      fmt::format("{}: found no {} in its manifest; restore a copy, or name another file", one_line(path), name)};
}

/// Throws InputError for a database of something else, and of another layout.
void check_kind(Database& file, std::string const& path) {
  auto const number = [&file](char const* pragma) { return std::get<std::int64_t>(file.first(pragma).value()); };
  if (number("PRAGMA application_id") != kApplicationId)
    throw InputError{
        fmt::format("{}: found no results of a sweep; name a file that `twinstep sweep` wrote", one_line(path))};
  if (number("PRAGMA user_version") != kLayout)
    throw InputError{fmt::format("{}: found results of another version of twinstep; use that one", one_line(path))};
}

bool is_empty(Database& file) {
  return !file.first("SELECT 1 FROM sqlite_schema");
}

Results read_header(Database& file, std::string const& path) {
  check_kind(file, path);
  auto results = Results{};
  auto& manifest = results.manifest;
  manifest.version = value_of<std::string>(file, path, "version");
  manifest.sweep = value_of<std::string>(file, path, "sweep");
  manifest.points = value_of<std::int64_t>(file, path, "points");
  auto const paths = io::parse({path, value_of<std::string>(file, path, "paths")});
  for (auto const& each : paths.elements()) manifest.paths.emplace_back(each.string());
  results.is_finished = value_of<std::int64_t>(file, path, "is_finished") != 0;
  return results;
}

Row read_row(Statement const& select, std::size_t path_count) {
  auto row = Row{};
  auto column = 0;
  row.point = std::get<std::int64_t>(select.cell(column++));
  for (std::size_t i = 0; i < path_count; ++i) row.settings.push_back(select.cell(column++));
  row.status = find_enum<Status>(std::get<std::string>(select.cell(column++))).value_or(Status::kWrongInput);
  row.reason = std::get<std::string>(select.cell(column++));
  for (std::size_t i = 0; i < kFigures.size(); ++i) row.figures.push_back(select.cell(column++));
  auto const is_absent = [](Cell const& cell) { return std::holds_alternative<std::monostate>(cell); };
  if (std::ranges::all_of(row.figures, is_absent)) row.figures.clear();
  return row;
}

void check_is_file(std::string const& path) {
  auto error = std::error_code{};
  if (!std::filesystem::exists(path, error))
    throw InputError{fmt::format("{}: found no such file; name one that `twinstep sweep --out` wrote", one_line(path))};
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError{
        fmt::format("{}: found no regular file; name one that `twinstep sweep --out` wrote", one_line(path))};
}

/// Throws InputError if the file is of another sweep than `wanted`.
void check_is_same(Database& file, std::string const& path, Manifest const& wanted) {
  auto const found = read_header(file, path).manifest;
  if (found == wanted) return;
  if (found.version != wanted.version)
    throw InputError{fmt::format("{}: found results of twinstep {}, and this is {}; name another file for --out",
                                 one_line(path), found.version, wanted.version)};
  throw InputError{fmt::format(
      "{}: found results of another sweep ({} points over {}), expected this one's ({} over {}); "
      "name another file for --out",
      one_line(path), found.points, fmt::join(found.paths, ", "), wanted.points, fmt::join(wanted.paths, ", "))};
}

}  // namespace

std::optional<std::size_t> Results::setting_index(std::string_view path) const {
  auto const found = std::ranges::find(manifest.paths, path);
  if (found == manifest.paths.end()) return std::nullopt;
  return static_cast<std::size_t>(found - manifest.paths.begin());
}

Results read_results(std::string const& path, std::function<void(Row const&)> const& each) {
  check_is_file(path);
  auto file = Database{path, Database::Access::kRead};
  auto results = read_header(file, path);
  auto select =
      Statement{file, fmt::format("SELECT {} FROM points ORDER BY point", columns(results.manifest.paths, false))};
  while (select.step()) each(read_row(select, results.manifest.paths.size()));
  return results;
}

Manifest read_manifest(std::string const& path) {
  check_is_file(path);
  auto file = Database{path, Database::Access::kRead};
  return read_header(file, path).manifest;
}

Results read_results(std::string const& path) {
  auto rows = std::vector<Row>{};
  auto results = read_results(path, [&rows](Row const& row) { rows.push_back(row); });
  results.rows = std::move(rows);
  return results;
}

struct ResultsWriter::Parts {
  using Clock = std::chrono::steady_clock;

  explicit Parts(std::string const& path) : lock{path}, file{path, Database::Access::kWrite} {}

  void prepare(std::vector<std::string> const& paths) {
    auto const marks = std::vector<std::string_view>(3 + paths.size() + kFigures.size(), "?");
    insert.emplace(file, fmt::format("INSERT INTO points VALUES ({})", fmt::join(marks, ", ")));
  }

  FileLock lock;  // released last
  Database file;
  std::optional<Statement> insert;
  bool is_in_transaction = false;
  Clock::time_point committed{};
};

ResultsWriter::ResultsWriter(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}
ResultsWriter::ResultsWriter(ResultsWriter&&) noexcept = default;
ResultsWriter::~ResultsWriter() = default;

ResultsWriter ResultsWriter::create(std::string const& path, Manifest const& manifest) {
  if (auto error = std::error_code{}; std::filesystem::is_regular_file(path, error))
    throw InputError{
        fmt::format("{}: is there already; go on with it by --resume, or name another file for --out", one_line(path))};
  return resume(path, manifest);
}

ResultsWriter ResultsWriter::resume(std::string const& path, Manifest const& manifest) {
  if (auto error = std::error_code{}; std::filesystem::exists(path, error)) check_is_file(path);
  auto parts = std::make_unique<Parts>(path);
  auto& file = parts->file;
  // Before anything is changed: a file of something else stays as it is.
  auto const is_new = is_empty(file);
  if (!is_new) check_is_same(file, path, manifest);
  // What was committed survives the end of this process at any moment; it may be lost with the power.
  file.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
  if (is_new) make_tables(file, manifest);
  parts->prepare(manifest.paths);
  return ResultsWriter{std::move(parts)};
}

std::vector<std::int64_t> ResultsWriter::points_done() const {
  auto points = std::vector<std::int64_t>{};
  auto select = Statement{parts_->file, "SELECT point FROM points ORDER BY point"};
  while (select.step()) points.push_back(std::get<std::int64_t>(select.cell(0)));
  return points;
}

void ResultsWriter::add(Row const& row) {
  constexpr auto kCommitsEvery = std::chrono::milliseconds{500};
  auto& [lock, file, insert, is_in_transaction, committed] = *parts_;
  if (!is_in_transaction) file.execute("BEGIN IMMEDIATE");
  is_in_transaction = true;
  auto column = 0;
  auto const bind = [&](Cell const& cell) { insert->bind(++column, cell); };
  auto const status = Cell{std::string{name_of(row.status)}};
  auto const reason = Cell{row.reason};
  bind(row.point);
  for (auto const& cell : row.settings) bind(cell);
  bind(status);
  bind(reason);
  auto const none = Cell{};
  for (std::size_t i = 0; i < kFigures.size(); ++i) bind(row.figures.empty() ? none : row.figures[i]);
  insert->step();
  if (Parts::Clock::now() - committed > kCommitsEvery) commit();
}

void ResultsWriter::commit() {
  if (!parts_->is_in_transaction) return;
  parts_->file.execute("COMMIT");
  parts_->is_in_transaction = false;
  parts_->committed = Parts::Clock::now();
}

void ResultsWriter::finish() {
  commit();
  parts_->file.execute("UPDATE manifest SET value = 1 WHERE name = 'is_finished'");
  parts_->insert.reset();
  // Out of WAL mode the file stands alone. Somebody who reads it at this moment only keeps it in that mode.
  try {
    parts_->file.execute("PRAGMA journal_mode=DELETE");
  } catch (InputError const&) {
  }
}

}  // namespace twinstep::app::sweep
