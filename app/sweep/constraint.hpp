#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::app::sweep {

/// What a point must satisfy to be asked: a comparison such as "cluster.nodes * 8 <= training.global_batch".
///
///     comparison = sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum
///     sum        = product (("+" | "-") product)*
///     product    = factor (("*" | "/" | "%") factor)*
///     factor     = number | path | 'text' | "-" factor | "(" sum ")"
///
/// Arithmetic is that of doubles. A path means the point's value: a number, a quantity in its base unit (bytes,
/// seconds, bytes a second, FLOP a second), or a text, which can only be compared with == and !=. A comparison with a
/// path that the point does not say holds.
class Constraint {
 public:
  /// A number, a text, or nothing where the path is not said.
  using Value = std::variant<std::monostate, double, std::string>;
  using Lookup = std::function<Value(std::string const& path)>;

  /// Parses it. Throws InputError with the place of `text` in the sweep.
  explicit Constraint(io::Node const& text);

  /// Throws InputError where a text is calculated with.
  [[nodiscard]] bool holds(Lookup const& lookup) const;
  /// Every path in it.
  [[nodiscard]] std::vector<std::string> const& paths() const { return paths_; }
  /// The text that it was read from, which can fail.
  [[nodiscard]] io::Node const& written() const { return written_; }

  struct Expression;

 private:
  io::Node written_;
  std::shared_ptr<Expression const> expression_;
  std::vector<std::string> paths_;
};

}  // namespace twinstep::app::sweep
