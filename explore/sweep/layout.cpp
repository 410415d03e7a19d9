#include "explore/sweep/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "explore/sweep/checksum.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kApplicationId = 0x54575357;  ///< "TWSW": what SQLite's header says of the file's kind
constexpr auto kLayout = 2;                  ///< of the tables; SQLite's user_version

/// `name` as SQL writes names.
std::string sql_name(std::string_view name) {
  auto text = std::string{'"'};
  for (auto const c : name) text += c == '"' ? std::string{"\"\""} : std::string{c};
  return text + '"';
}

std::string list_text(std::vector<std::string> const& texts) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_array();
  for (auto const& text : texts) json.value(text);
  json.end_array();
  return std::move(json).text();
}

/// Names and values of the table "manifest".
std::vector<std::pair<std::string, Cell>> manifest_rows(Header const& header) {
  auto const& [manifest, rows] = header;
  auto const count = rows ? Cell{*rows} : Cell{};
  auto const cells =
      std::array<Cell, 5>{manifest.version, manifest.sweep, list_text(manifest.paths), manifest.points, count};
  return {{"version", cells[0]}, {"sweep", cells[1]}, {"paths", cells[2]},
          {"points", cells[3]},  {"rows", cells[4]},  {"checksum", checksum_of(cells)}};
}

/// Writes the manifest, in place of one that is there.
void write_manifest(Database& file, Header const& header) {
  auto insert = Statement{file, "INSERT OR REPLACE INTO manifest VALUES (?, ?)"};
  for (auto const& [name, value] : manifest_rows(header)) {
    auto const key = Cell{name};
    insert.bind(1, key);
    insert.bind(2, value);
    insert.step();
  }
}

/// Throws InputError for a database of something else, and of another layout.
void check_kind(Database& file, std::string const& path) {
  auto const number = [&file](char const* pragma) { return std::get<std::int64_t>(file.first(pragma).value()); };
  if (number("PRAGMA application_id") != kApplicationId)
    throw InputError{
        fmt::format("{}: found no results of a sweep; name a file that `twinstep sweep` wrote", one_line(path))};
  if (auto const layout = number("PRAGMA user_version"); layout != kLayout)
    throw InputError{
        fmt::format("{}: found results in layout {}, and this twinstep reads layout {}; read them with {} twinstep",
                    one_line(path), layout, kLayout, layout > kLayout ? "a newer" : "an older")};
}

/// The first column of every row.
std::vector<std::string> texts_of(Database& file, std::string const& sql) {
  auto texts = std::vector<std::string>{};
  auto select = Statement{file, sql};
  while (select.step())
    if (auto const cell = select.cell(0); auto const* text = std::get_if<std::string>(&cell)) texts.push_back(*text);
  return texts;
}

/// Nothing may stand there but what we put there: a trigger would change what we write, and a view what we read.
void check_tables(Database& file, std::string const& path) {
  auto const tables = texts_of(file,
                               "SELECT type || ' ' || name FROM sqlite_schema WHERE type <> 'index' AND "
                               "name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name");
  auto const wanted = std::vector<std::string>{"table manifest", "table points"};
  for (auto const& each : wanted)
    if (std::ranges::find(tables, each) == tables.end()) fail_damaged(path, fmt::format("found no {}", each));
  for (auto const& each : tables)
    if (std::ranges::find(wanted, each) == wanted.end())
      fail_damaged(path, fmt::format("found a {}, which no results file has", one_line(each)));
}

void check_columns(Database& file, std::string const& path, std::vector<std::string> const& paths) {
  auto wanted = std::vector<std::string>{"point"};
  wanted.insert(wanted.end(), paths.begin(), paths.end());
  wanted.insert(wanted.end(), {"status", "reason"});
  for (auto const& figure : kFigures) wanted.emplace_back(figure.name);
  wanted.emplace_back("checksum");
  auto const found = texts_of(file, "SELECT name FROM pragma_table_info('points') ORDER BY cid");
  if (found == wanted) return;
  for (auto const& each : wanted)
    if (std::ranges::find(found, each) == found.end())
      fail_damaged(path, fmt::format("found no column {} in its table points", twinstep::quoted(each)));
  for (auto const& each : found)
    if (std::ranges::find(wanted, each) == wanted.end())
      fail_damaged(path, fmt::format("found the column {} in its table points, which no results of this sweep have",
                                     twinstep::quoted(each)));
  fail_damaged(path, "found the columns of its table points in another order");
}

template <class T>
T value_of(Database& file, std::string const& path, char const* name) {
  auto const cell = file.first(fmt::format("SELECT value FROM manifest WHERE name = '{}'", name));
  if (cell)
    if (auto const* value = std::get_if<T>(&*cell)) return *value;
  fail_damaged(path, fmt::format("found no {} in its manifest", name));
}

}  // namespace

void fail_damaged(std::string const& path, std::string_view found) {
  throw InputError{
      fmt::format("{}: {}; the file is damaged: restore a copy, or name another file", one_line(path), found)};
}

std::string columns_sql(std::vector<std::string> const& paths, bool with_types) {
  auto text = std::string{with_types ? "point INTEGER PRIMARY KEY" : "point"};
  for (auto const& path : paths) text += ", " + sql_name(path);
  text += with_types ? ", status TEXT NOT NULL, reason TEXT NOT NULL" : ", status, reason";
  constexpr auto kTypes = std::to_array<std::string_view>({"INTEGER", "REAL", "INTEGER", "TEXT", "TEXT"});
  for (auto const& figure : kFigures) {
    text += fmt::format(", {}", figure.name);
    if (with_types) text += fmt::format(" {}", kTypes[static_cast<std::size_t>(figure.kind)]);
  }
  return text + (with_types ? ", checksum INTEGER NOT NULL" : ", checksum");
}

std::size_t column_count(std::vector<std::string> const& paths) {
  return paths.size() + kFigures.size() + 4;  // point, status, reason, checksum
}

void make_tables(Database& file, Manifest const& manifest) {
  file.execute("BEGIN");
  file.execute("CREATE TABLE manifest (name TEXT PRIMARY KEY, value) WITHOUT ROWID");
  write_manifest(file, {manifest, std::nullopt});
  file.execute(fmt::format("CREATE TABLE points ({})", columns_sql(manifest.paths, true)));
  file.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT", kApplicationId, kLayout));
}

Header read_header(Database& file, std::string const& path) {
  check_kind(file, path);
  check_tables(file, path);
  auto header = Header{};
  auto& manifest = header.manifest;
  manifest.version = value_of<std::string>(file, path, "version");
  manifest.sweep = value_of<std::string>(file, path, "sweep");
  manifest.points = value_of<std::int64_t>(file, path, "points");
  auto const paths = value_of<std::string>(file, path, "paths");
  auto const rows = file.first("SELECT value FROM manifest WHERE name = 'rows'").value_or(Cell{});
  auto const cells = std::array<Cell, 5>{manifest.version, manifest.sweep, paths, manifest.points, rows};
  if (value_of<std::int64_t>(file, path, "checksum") != checksum_of(cells))
    fail_damaged(path, "found a manifest that its checksum does not fit");
  for (auto const& each : io::parse({path, paths}).elements()) manifest.paths.emplace_back(each.string());
  if (auto const* count = std::get_if<std::int64_t>(&rows)) header.rows = *count;
  check_columns(file, path, manifest.paths);
  return header;
}

void write_finished(Database& file, Manifest const& manifest, std::int64_t rows) {
  file.execute("BEGIN");
  write_manifest(file, {manifest, rows});
  file.execute("COMMIT");
}

}  // namespace twinstep::explore::sweep
