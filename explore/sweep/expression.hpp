#pragma once

#include <memory>
#include <string>
#include <vector>

#include "explore/sweep/value.hpp"
#include "sim/io/document.hpp"

namespace twinstep::explore::sweep {

/// A comparison or a part of one (`Constraint` says the grammar): a leaf, or an operation on two expressions.
struct Expression {
  std::string text;       ///< as it was written
  std::string operation;  ///< "+", "<=", …; empty for a leaf
  std::shared_ptr<Expression const> left;
  std::shared_ptr<Expression const> right;
  Value constant;    ///< of a leaf that is no path; nothing for "null"
  std::string path;  ///< of a leaf that is one

  [[nodiscard]] bool is_null() const { return operation.empty() && path.empty() && constant == Value{}; }
};

/// Parses a comparison. Throws InputError with the place of `written`.
[[nodiscard]] std::shared_ptr<Expression const> parse_comparison(io::Node const& written);

/// Every path in it, from the left.
[[nodiscard]] std::vector<std::string> paths_of(Expression const& expression);

}  // namespace twinstep::explore::sweep
