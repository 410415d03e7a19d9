#include "explore/sweep/layout.hpp"

#include <array>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/io/document.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kApplicationId = 0x54575357;  ///< "TWSW": what SQLite's header says of the file's kind
constexpr auto kLayout = 3;                  ///< of the tables; SQLite's user_version

constexpr auto kManifestSql =
    "CREATE TABLE manifest (version TEXT NOT NULL, sweep TEXT NOT NULL, paths TEXT NOT NULL, points INTEGER NOT NULL, "
    "rows INTEGER)";

/// `name` as SQL writes names.
std::string sql_name(std::string_view name) {
  auto text = std::string{'"'};
  for (auto const c : name) text += c == '"' ? std::string{"\"\""} : std::string{c};
  return text + '"';
}

std::string points_sql(std::vector<std::string> const& paths) {
  auto text = std::string{"CREATE TABLE points (point INTEGER PRIMARY KEY"};
  for (auto const& path : paths) text += ", " + sql_name(path);
  text += ", status TEXT NOT NULL, reason TEXT NOT NULL";
  constexpr auto kTypes = std::to_array<std::string_view>({"INTEGER", "REAL", "INTEGER", "TEXT", "TEXT"});
  for (auto const& figure : kFigures)
    text += fmt::format(", {} {}", figure.name, kTypes[static_cast<std::size_t>(figure.kind)]);
  return text + ")";
}

std::string list_text(std::vector<std::string> const& texts) {
  auto json = io::JsonWriter{io::JsonWriter::kOneLine};
  json.begin_array();
  for (auto const& text : texts) json.value(text);
  json.end_array();
  return std::move(json).text();
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

/// Throws InputError unless a table is there as `wanted` makes it.
void check_table(Database& file, std::string const& path, std::string_view name, std::string const& wanted) {
  auto const found = file.first(fmt::format("SELECT sql FROM sqlite_schema WHERE name = '{}'", name));
  if (!found) fail_damaged(path, fmt::format("found no table {}", name));
  if (found != Cell{wanted}) fail_damaged(path, fmt::format("found a table {} of another form", name));
}

using MaybeNode = std::optional<io::Node>;

std::string shown(MaybeNode const& node) {
  return node ? io::short_line(*node) : "absent";
}

/// Members are compared one by one, lists as wholes.
std::optional<std::string> difference_of(std::string const& path, MaybeNode const& found, MaybeNode const& wanted) {
  auto const is_object = [](MaybeNode const& node) { return node && node->is(io::Node::Type::kObject); };
  if (!is_object(found) || !is_object(wanted)) {
    if (found && wanted && io::document_line(*found) == io::document_line(*wanted)) return std::nullopt;
    return fmt::format("{} is {}, expected {}", path, shown(found), shown(wanted));
  }
  auto const below = [&path](std::string_view key) {
    return path.empty() ? std::string{key} : fmt::format("{}.{}", path, key);
  };
  for (auto const* const object : {&wanted, &found})
    for (auto const& [key, value] : (*object)->members())
      if (found->find(key) || wanted->find(key))
        if (auto difference = difference_of(below(key), found->find(key), wanted->find(key))) return difference;
  return std::nullopt;
}

}  // namespace

void fail_damaged(std::string const& path, std::string_view found) {
  throw InputError{
      fmt::format("{}: {}; the file is damaged: restore a copy, or name another file", one_line(path), found)};
}

std::string columns_sql(std::vector<std::string> const& paths) {
  auto text = std::string{"point"};
  for (auto const& path : paths) text += ", " + sql_name(path);
  text += ", status, reason";
  for (auto const& figure : kFigures) text += fmt::format(", {}", figure.name);
  return text;
}

std::size_t column_count(std::vector<std::string> const& paths) {
  return paths.size() + kFigures.size() + 3;  // point, status, reason
}

void make_tables(Database& file, Manifest const& manifest) {
  file.execute("BEGIN");
  file.execute(kManifestSql);
  file.execute(points_sql(manifest.paths));
  auto insert = Statement{file, "INSERT INTO manifest VALUES (?, ?, ?, ?, NULL)"};
  auto const cells = std::array<Cell, 4>{manifest.version, manifest.sweep, list_text(manifest.paths), manifest.points};
  for (std::size_t i = 0; i < cells.size(); ++i) insert.bind(static_cast<int>(i) + 1, cells[i]);
  insert.step();
  file.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT", kApplicationId, kLayout));
}

Header read_header(Database& file, std::string const& path) {
  check_kind(file, path);
  check_table(file, path, "manifest", kManifestSql);
  auto select = Statement{file, "SELECT version, sweep, paths, points, rows FROM manifest"};
  if (!select.step()) fail_damaged(path, "found no row in its table manifest");
  auto const text = [&](int column) {
    auto const cell = select.cell(column);
    auto const* its_text = std::get_if<std::string>(&cell);
    return its_text == nullptr ? std::string{} : *its_text;
  };
  auto const number = [&](int column) {
    auto const cell = select.cell(column);
    auto const* whole = std::get_if<std::int64_t>(&cell);
    return whole == nullptr ? std::nullopt : std::optional{*whole};
  };
  auto header =
      Header{.manifest = {.version = text(0), .sweep = text(1), .points = number(3).value_or(0)}, .rows = number(4)};
  for (auto const& each : io::parse({path, text(2)}).elements()) header.manifest.paths.emplace_back(each.string());
  check_table(file, path, "points", points_sql(header.manifest.paths));
  return header;
}

void write_finished(Database& file, std::int64_t rows) {
  file.execute(fmt::format("UPDATE manifest SET rows = {}", rows));
}

std::string difference_of(Manifest const& found, Manifest const& wanted) {
  if (found.version != wanted.version)
    return fmt::format("the version of twinstep is {}, expected {}", found.version, wanted.version);
  if (auto const difference = difference_of("", io::parse({"found", found.sweep}), io::parse({"wanted", wanted.sweep})))
    return *difference;
  return "the order of its members is another";
}

}  // namespace twinstep::explore::sweep
