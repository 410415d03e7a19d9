#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {

/// Exponents of base units: {.bytes = 1, .seconds = -1} is a bandwidth; all zero is a plain number.
struct Unit {
  int bytes = 0;
  int seconds = 0;
  int flops = 0;

  bool operator==(Unit const&) const = default;
};

struct Number {
  double number = 0;  ///< in base units
  Unit unit{};

  bool operator==(Number const&) const = default;
};

/// An object or a list.
struct Composite {
  bool operator==(Composite const&) const = default;
};

/// What a JSON value means where constraints calculate and values are told apart: 400 and "400 Gb/s" are numbers, other
/// texts are texts; null means what is not said.
using Value = std::variant<std::monostate, bool, Number, std::string, Composite>;

[[nodiscard]] Value value_of(io::Node const& node);
/// The same for a text, which may be a quantity.
[[nodiscard]] Value value_of_text(std::string_view text);

/// `the number 4`, `the text "ddp"`, `a bandwidth`, `nothing`.
[[nodiscard]] std::string described(Value const& value);

/// A text that two JSON values share exactly if they mean the same: 1 and 1.0, "8 GB" and "8000 MB", objects with their
/// members in another order. A member that is null is as good as none.
[[nodiscard]] std::string meaning_of(io::Node const& node);

/// Throws InputError for the first value that means the same as one before it: its points would be asked twice.
void refuse_doubles(std::vector<io::Node> const& values);

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
