#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "validate/records/nccl_tests.hpp"

/// The rows of nccl-tests' tables, by the titles above them: the columns changed over the years.
namespace twinstep::records {

/// Where the columns of a table stand, by the titles of its header.
struct TableColumns {
  std::vector<std::string> before;  ///< "size", "count", "type", "redop", "root"
  std::vector<std::string> half;    ///< "time", "algbw", "busbw", "#wrong"; "error" or "res" in old logs
  std::size_t halves = 0;           ///< out of place, in place

  [[nodiscard]] std::optional<std::size_t> find(std::initializer_list<std::string_view> titles) const;
  [[nodiscard]] std::size_t words() const { return before.size() + halves * half.size(); }
};

/// The columns that the words of a header line name; nothing if it is no header.
[[nodiscard]] std::optional<TableColumns> read_header(std::vector<std::string_view> const& words);

/// What nccl-tests has printed since 2.13: for rows whose header is missing.
[[nodiscard]] TableColumns const& usual_columns();

/// A row that ended.
struct ReadRow {
  LoggedRow row;
  std::string type;
  std::string reduction;
  bool is_cut = false;  ///< a half of it is missing or not complete; `row.out_of_place` is empty if it is the first
  bool has_all_words = true;  ///< so that what is missing was no number
};

/// Puts rows together from the words of lines; messages of the library may cut a row in two.
class RowReader {
 public:
  void begin_table(TableColumns columns) { columns_ = std::move(columns); }

  /// False if these words are no row, and no more of one that was cut in two.
  bool read(std::vector<std::string_view> const& words);
  /// Nothing more belongs to the row that is being read.
  void end_row();

  [[nodiscard]] bool is_in_row() const { return !words_.empty(); }
  /// The rows that ended since the last call.
  [[nodiscard]] std::vector<ReadRow> take() { return std::exchange(ended_, {}); }

 private:
  [[nodiscard]] bool begins_row(std::vector<std::string_view> const& words) const;
  [[nodiscard]] std::string word_at(std::initializer_list<std::string_view> titles) const;
  [[nodiscard]] std::optional<LoggedTiming> timing(std::size_t begin) const;

  TableColumns columns_ = usual_columns();
  std::vector<std::string> words_;  ///< of the row that is being read
  std::vector<ReadRow> ended_;
};

}  // namespace twinstep::records
