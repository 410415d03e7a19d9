#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {

/// Numbers, with or without a unit, that follow each other by the same factor or the same step. Never listed: a range
/// of 10^12 values costs nothing.
struct Range {
  double from = 0;
  double by = 1;
  bool is_factor = false;
  bool is_whole = false;  ///< integers, written without a point
  std::string unit;       ///< "Gb/s"; empty for plain numbers
  std::int64_t size = 0;
  io::Node written;  ///< where it stands

  /// `from` × `by`^index, or `from` + `by` × index, to twelve digits: the decimals that were meant.
  [[nodiscard]] io::Node value(std::int64_t index) const;
};

/// The values that one path takes.
class Values {
 public:
  /// Reads a list of JSON values, or a range {"from", "to", "factor"} or {"from", "to", "step"} with both ends
  /// included, numbers or quantities of one kind; they are written in the unit of "from". Throws InputError for an
  /// empty or endless one.
  explicit Values(io::Node const& values);

  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] bool is_range() const { return std::holds_alternative<Range>(values_); }
  /// Requires an index from 0 to below `size()`.
  [[nodiscard]] io::Node value(std::int64_t index) const;

 private:
  std::variant<std::vector<io::Node>, Range> values_;
};

}  // namespace twinstep::explore::sweep
