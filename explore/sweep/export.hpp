#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "explore/sweep/results.hpp"
#include "explore/sweep/row.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::explore::sweep {

/// Rows as comma-separated values (RFC 4180): the columns of the results file, with a header. An absent value is empty.
[[nodiscard]] std::string csv_header(std::vector<std::string> const& paths);
[[nodiscard]] std::string csv_line(Row const& row);

/// A row as one line of JSON: {"point", "settings": {path: value}, "status", "reason", figure: value, …}. An absent
/// value is null.
[[nodiscard]] std::string json_line(Row const& row, std::vector<std::string> const& paths);

/// {path: value}, the settings of a row.
void write_settings(io::JsonWriter& json, Row const& row, std::vector<std::string> const& paths);

/// A setting in a text: 4, dgx-h100, {"name": "ddp"}; empty where it is absent.
[[nodiscard]] std::string setting_text(Cell const& setting);

/// Writes all rows of a results file. Throws InputError where one is damaged.
void export_csv(ResultsFile& results, std::ostream& out);
void export_json_lines(ResultsFile& results, std::ostream& out);

}  // namespace twinstep::explore::sweep
