#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/sweep/database.hpp"
#include "explore/sweep/results.hpp"

/// The tables of a results file: "points" has a row for each point, with the columns point, one for each path of the
/// sweep, status, reason, and `kFigures`; the one row of "manifest" says of which sweep they are, and how many they are
/// once it is finished.
namespace twinstep::explore::sweep {

/// The columns of "points" as SQL, in their order.
[[nodiscard]] std::string columns_sql(std::vector<std::string> const& paths);
/// How many they are.
[[nodiscard]] std::size_t column_count(std::vector<std::string> const& paths);

/// Writes the tables into an empty database.
void make_tables(Database& file, Manifest const& manifest);

/// What the manifest says.
struct Header {
  Manifest manifest;
  std::optional<std::int64_t> rows;  ///< nothing before the sweep is finished
};

/// Reads it. Throws InputError for a database of something else or of another layout, and for one whose tables are not
/// as `make_tables` writes them.
[[nodiscard]] Header read_header(Database& file, std::string const& path);

/// Says that all `rows` are there.
void write_finished(Database& file, std::int64_t rows);

/// Throws InputError: "PATH: <found>; the file is damaged…".
[[noreturn]] void fail_damaged(std::string const& path, std::string_view found);

}  // namespace twinstep::explore::sweep
