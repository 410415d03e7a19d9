#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/measure/measure.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"
#include "validate/measure/executor.hpp"

namespace twinstep::app {

/// What was measured, as an array of records, on standard output and in a file.
///
/// The file is there after every point, so that nothing is lost where a later one fails; until `finish` each of its
/// records says "complete": false.
class MeasuredRecords {
 public:
  /// Writes the members of one record into its object.
  using Members = std::function<void(io::JsonWriter&)>;

  /// Throws InputError, before anything is measured, where the file could not be written or the cluster is none.
  explicit MeasuredRecords(MeasureOptions const& options);

  /// Says what the records share. The first process calls it before the first record.
  void belong_to(measure::Job const& job);
  [[nodiscard]] measure::Job const& job() const { return job_; }

  /// Adds a record and saves. The members that all share (system, backend, ranks, date, …) are written by themselves.
  void add(Members members);
  /// Saves again: what the last record's members write has grown.
  void save() const;
  /// Marks all as complete, saves, and prints them where JSON was asked for.
  void finish();

 private:
  [[nodiscard]] std::string text() const;
  void write_shared(io::JsonWriter& json) const;

  MeasureOptions const& options_;
  std::optional<io::Node> cluster_;
  measure::Job job_;
  std::vector<Members> records_;
  bool is_complete_ = false;
};

}  // namespace twinstep::app
