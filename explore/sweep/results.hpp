#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explore/sweep/row.hpp"

/// The results file: results.cpp reads it, results_writer.cpp writes it, layout.hpp says what its tables are.
namespace twinstep::explore::sweep {

/// What a results file is of. Two runs whose manifests are equal give the same rows.
struct Manifest {
  std::string version;             ///< of twinstep, with the hash of its model
  std::string sweep;               ///< the sweep, its base and the options that change results, as JSON text
  std::vector<std::string> paths;  ///< the settings of each row: "cluster.nodes", …
  std::int64_t points = 0;         ///< of the whole sweep, those that constraints leave out included

  bool operator==(Manifest const&) const = default;
};

/// Where `found` first differs from `wanted`: `sweep.axes.cluster.nodes is [1, 2], expected [1, 2, 4]`. Requires two
/// that differ.
[[nodiscard]] std::string difference_of(Manifest const& found, Manifest const& wanted);

struct Results {
  Manifest manifest;
  bool is_finished = false;
  std::vector<Row> rows;  ///< in the order of their points

  /// Place of a path in `Row::settings`; nothing if no axis has it.
  [[nodiscard]] std::optional<std::size_t> setting_index(std::string_view path) const;
};

/// Whether bytes are results: they begin as a SQLite database.
[[nodiscard]] bool are_results(std::string_view bytes);
/// The same for a file. False where it cannot be read.
[[nodiscard]] bool is_results_file(std::string const& path);

/// A results file that was opened and that SQLite finds whole, also one that is still being written: all that is read
/// of it is of one moment.
class ResultsFile {
 public:
  /// Throws InputError for a file that is missing, damaged or of something else. Changes nothing.
  explicit ResultsFile(std::string path);
  ResultsFile(ResultsFile&&) noexcept;
  ResultsFile& operator=(ResultsFile&&) = delete;
  ~ResultsFile();

  [[nodiscard]] std::string const& path() const;
  [[nodiscard]] Manifest const& manifest() const;
  [[nodiscard]] bool is_finished() const;

  /// Gives `each` every row in the order of points. Throws InputError with the row and the column of what no row may
  /// hold.
  void for_each_row(std::function<void(Row const&)> const& each);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// All of a results file. Throws InputError as `ResultsFile` does.
[[nodiscard]] Results read_results(std::string const& path);

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

}  // namespace twinstep::explore::sweep
