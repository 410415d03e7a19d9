#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/sweep/database.hpp"
#include "explore/sweep/manifest.hpp"

/// The tables of a results file.
///
/// "points" has the columns point, one for each path of the sweep, status, reason, `kFigures`, and the checksum of all
/// these. "manifest" (name, value) says of which sweep they are, how many rows there are once it is finished, and its
/// own checksum.
namespace twinstep::explore::sweep {

/// The columns of "points" as SQL, in their order; with their types as a new table names them.
[[nodiscard]] std::string columns_sql(std::vector<std::string> const& paths, bool with_types);
/// How many they are.
[[nodiscard]] std::size_t column_count(std::vector<std::string> const& paths);

/// Writes the tables into an empty database.
void make_tables(Database& file, Manifest const& manifest);

/// What the manifest says.
struct Header {
  Manifest manifest;
  std::optional<std::int64_t> rows;  ///< nothing before the sweep is finished
};

/// Reads it. Throws InputError for a database of something else or of another layout, and for one whose tables or
/// manifest are damaged.
[[nodiscard]] Header read_header(Database& file, std::string const& path);

/// Says that all `rows` are there.
void write_finished(Database& file, Manifest const& manifest, std::int64_t rows);

/// Throws InputError: "PATH: <found>; the file is damaged…".
[[noreturn]] void fail_damaged(std::string const& path, std::string_view found);

}  // namespace twinstep::explore::sweep
