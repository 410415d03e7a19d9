#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/render/nccl_tests_table.hpp"
#include "sim/io/json_writer.hpp"
#include "validate/measure/collective_sweep.hpp"
#include "validate/measure/executor.hpp"
#include "validate/records/collective_record.hpp"

/// Measured collectives as nccl-tests' rows and as records.
namespace twinstep::app {

/// One record: a collective, alone or beside another.
struct CollectiveSeries {
  measure::Exchange exchange;
  std::optional<std::string> beside;
  std::vector<measure::SweepRow> rows;
};

/// "all_reduce", …, "send_recv".
[[nodiscard]] std::string_view op_name(measure::Exchange const& exchange);

[[nodiscard]] reports::CollectiveRow table_row(measure::SweepRow const& row, measure::Exchange const& exchange,
                                               std::int64_t ranks);

/// Elements of all rows that came out wrong.
[[nodiscard]] std::int64_t wrong_in(std::vector<measure::SweepRow> const& rows);

/// The series as a record of its machine.
[[nodiscard]] validate::CollectiveRecord record_of(CollectiveSeries const& series, measure::Job const& job);

/// The members of the record in a file.
void write_series(io::JsonWriter& json, CollectiveSeries const& series, measure::Job const& job);

}  // namespace twinstep::app
