#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "explore/sweep/value.hpp"
#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {

struct Expression;  // of constraint.cpp

/// What a point must satisfy to be asked: a comparison such as "cluster.nodes * 8 <= training.global_batch".
///
///     comparison = sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum
///     sum        = product (("+" | "-") product)*
///     product    = factor (("*" | "/" | "%") factor)*
///     factor     = number | path | 'text' | "true" | "false" | "null" | "-" factor | "(" sum ")"
///
/// A path means the point's value, and arithmetic is that of doubles with their units: '400 Gb/s' is a bandwidth, as a
/// path's may be, and is compared with bandwidths. Texts and booleans are compared with their like by == and !=.
///
/// A comparison with a path that the point does not say holds; "path == null" is whether it is not said.
class Constraint {
 public:
  using Lookup = std::function<Value(std::string const& path)>;

  /// Parses it. Throws InputError with the place of `text` in the sweep.
  explicit Constraint(io::Node const& text);

  /// Throws InputError where the comparison has no answer at this point: a division by zero, values of two kinds, what
  /// no double holds.
  [[nodiscard]] bool holds(Lookup const& lookup) const;
  /// Every path in it, from the left.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  io::Node written_;
  std::shared_ptr<Expression const> comparison_;
};

}  // namespace twinstep::explore::sweep
