#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/sweep/manifest.hpp"
#include "app/sweep/table.hpp"

/// The results file. Its tables: app/sweep/layout.hpp.
namespace twinstep::app::sweep {

struct Results {
  Manifest manifest;
  bool is_finished = false;
  std::vector<Row> rows;  ///< in the order of their points

  /// Place of a path in `Row::settings`; nothing if no axis has it.
  [[nodiscard]] std::optional<std::size_t> setting_index(std::string_view path) const;
};

/// Reads a results file, also one that is still being written. Throws InputError for a file that is missing, damaged or
/// of something else, with the row and the column where it is in one. Changes nothing.
[[nodiscard]] Results read_results(std::string const& path);

/// What it is of. Throws likewise.
[[nodiscard]] Manifest read_manifest(std::string const& path);

/// The same row by row, for more than memory holds: gives `each` every row in order, and returns the rest with no rows.
Results read_results(std::string const& path, std::function<void(Row const&)> const& each);

/// Rows on their way into a results file. One process writes a file at a time, others may read it meanwhile: what was
/// committed is safe from then on, whatever becomes of this process.
class ResultsWriter {
 public:
  /// Makes the file; throws InputError where there is one already.
  [[nodiscard]] static ResultsWriter create(std::string const& path, Manifest const& manifest);
  /// Goes on with the file, or makes it where there is none. Throws InputError if it is of another sweep or damaged,
  /// and leaves it as it is then.
  [[nodiscard]] static ResultsWriter resume(std::string const& path, Manifest const& manifest);

  ResultsWriter(ResultsWriter&&) noexcept;
  ResultsWriter& operator=(ResultsWriter&&) = delete;
  ~ResultsWriter();

  /// Numbers of the points that were in the file at first, ascending.
  [[nodiscard]] std::vector<std::int64_t> const& points_done() const;
  /// Adds a row, and commits unless that was done in the last half second. Throws InputError where the disk refuses,
  /// and where the file was taken away meanwhile; what was committed stays.
  void add(Row const& row);
  /// Commits what was added.
  void commit();
  /// The sweep is complete: marks it so and leaves one file, which may be copied and made read-only.
  void finish();

 private:
  struct Parts;
  explicit ResultsWriter(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace twinstep::app::sweep
