#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace twinstep::reports {

/// One timing of a collective: a half of a row of nccl-tests.
struct CollectiveTiming {
  Duration time;
  BytesPerSecond algorithm_bandwidth;  ///< size over time
  BytesPerSecond bus_bandwidth;        ///< algorithm bandwidth times the collective's factor
  std::optional<std::int64_t> wrong;   ///< elements with a wrong value; nothing where nobody looked ("N/A")
};

/// A row of nccl-tests' table.
struct CollectiveRow {
  Bytes size;                        ///< nccl-tests' "size": the large side
  std::int64_t count = 0;            ///< elements that one call names
  std::string type = "float";        ///< "float", "bfloat16", "half", …
  std::string reduction = "none";    ///< "sum", …; "none" for a collective that moves data only
  std::optional<std::int64_t> root;  ///< nothing (printed as -1) for a collective without a root
  std::optional<CollectiveTiming> out_of_place;
  std::optional<CollectiveTiming> in_place;
  std::string remark = {};  ///< stands after the columns; empty in nccl-tests' own tables
};

/// The three header lines of nccl-tests 2.13 to 2.16 and a line for each row, character for character, so that two
/// tables can be laid side by side. Times in microseconds, rates in decimal GB/s; a half that is missing is blank.
/// Source: the column formats of nccl-tests (src/common.cu, src/all_reduce.cu).
[[nodiscard]] std::string nccl_tests_table(std::vector<CollectiveRow> const& rows);

/// The header and one row of the same table, for who prints as the rows come.
[[nodiscard]] std::string nccl_tests_header();
[[nodiscard]] std::string nccl_tests_line(CollectiveRow const& row);

/// "# Avg bus bandwidth    : 92.3318": the mean of all bus bandwidths of all rows, out of place and in place.
[[nodiscard]] std::string nccl_tests_average(std::vector<CollectiveRow> const& rows);

}  // namespace twinstep::reports
