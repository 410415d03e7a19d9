#include "explore/sweep/constraint.hpp"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace twinstep::explore::sweep {
namespace {

/// `strategy.name (the text "ddp")`, `the number 3`.
std::string shown(Expression const& expression, Value const& value) {
  if (expression.operation.empty() && expression.path.empty()) return described(value);
  return fmt::format("{} ({})", expression.text, described(value));
}

bool compared(std::string_view name, double left, double right) {
  if (name == "<") return left < right;
  if (name == "<=") return left <= right;
  if (name == ">") return left > right;
  if (name == ">=") return left >= right;
  return (left == right) == (name == "==");
}

Unit product(Unit left, Unit right, int sign) {
  return {left.bytes + sign * right.bytes, left.seconds + sign * right.seconds, left.flops + sign * right.flops};
}

/// One comparison at one point.
class Evaluation {
 public:
  Evaluation(io::Node const& written, Constraint::Lookup const& lookup) : written_{&written}, lookup_{&lookup} {}

  [[nodiscard]] bool holds(Expression const& comparison) const {
    auto const& name = comparison.operation;
    auto const is_equality = name == "==" || name == "!=";
    auto const left = value(*comparison.left);
    auto const right = value(*comparison.right);
    if (is_equality && (comparison.left->is_null() || comparison.right->is_null()))
      return (left == right) == (name == "==");
    refuse_null(comparison);
    if (left == Value{} || right == Value{}) return true;
    auto const* number = std::get_if<Number>(&left);
    refuse_kinds(comparison, left, right);
    if (number != nullptr) return compared(name, number->number, std::get<Number>(right).number);
    if (!is_equality)
      fail(fmt::format("{} beside {}, expected numbers", shown(*comparison.left, left), name),
           "compare it with == or !=");
    return (left == right) == (name == "==");
  }

 private:
  [[nodiscard]] Value value(Expression const& expression) const {
    if (!expression.path.empty()) return (*lookup_)(expression.path);
    if (expression.operation.empty()) return expression.constant;
    refuse_null(expression);
    auto const left = value(*expression.left);
    auto const right = value(*expression.right);
    if (left == Value{} || right == Value{}) return {};
    return calculated(expression, number(expression, *expression.left, left),
                      number(expression, *expression.right, right));
  }

  [[nodiscard]] Number number(Expression const& whole, Expression const& part, Value const& value) const {
    if (auto const* number = std::get_if<Number>(&value)) return *number;
    fail(fmt::format("{} where {} needs numbers", shown(part, value), whole.operation),
         "name a number there, or leave out the values that are none");
  }

  [[nodiscard]] Number calculated(Expression const& operation, Number left, Number right) const {
    auto const name = operation.operation.front();
    auto const is_product = name == '*' || name == '/';
    if (!is_product) refuse_kinds(operation, left, right);
    if ((name == '/' || name == '%') && right.number == 0)
      fail(fmt::format("a division by zero in {}: {} is 0", operation.text, operation.right->text),
           "leave such points out of the axes, or multiply instead");
    auto const result = [&]() -> Number {
      switch (name) {
        case '+': return {left.number + right.number, left.unit};
        case '-': return {left.number - right.number, left.unit};
        case '*': return {left.number * right.number, product(left.unit, right.unit, 1)};
        case '/': return {left.number / right.number, product(left.unit, right.unit, -1)};
        default: return {std::fmod(left.number, right.number), left.unit};
      }
    }();
    if (!std::isfinite(result.number))
      fail(fmt::format("a number beyond 1.8e308 in {}", operation.text), "use smaller ones");
    return result;
  }

  void refuse_null(Expression const& operation) const {
    if (operation.left->is_null() || operation.right->is_null())
      fail(fmt::format("null beside {}, expected a value", operation.operation), "compare it with == or !=");
  }

  /// Only values of one kind, and numbers of one unit, go together.
  void refuse_kinds(Expression const& operation, Value const& left, Value const& right) const {
    auto const* number = std::get_if<Number>(&left);
    auto const* other = std::get_if<Number>(&right);
    auto const are_numbers = number != nullptr && other != nullptr;
    if (are_numbers ? number->unit == other->unit : left.index() == right.index() && left != Value{Composite{}}) return;
    fail(fmt::format("{} beside {}, expected two values of one kind", shown(*operation.left, left),
                     shown(*operation.right, right)),
         are_numbers ? "write quantities with their units, in single quotes: '400 Gb/s'"
                     : "compare a number with a number, a text with one in single quotes");
  }

  [[noreturn]] void fail(std::string const& found, char const* way_out) const {
    written_->fail("found " + found, way_out);
  }

  io::Node const* written_;
  Constraint::Lookup const* lookup_;
};

}  // namespace

Constraint::Constraint(io::Node const& text) : written_{text}, comparison_{parse_comparison(text)} {}

bool Constraint::holds(Lookup const& lookup) const {
  return Evaluation{written_, lookup}.holds(*comparison_);
}

}  // namespace twinstep::explore::sweep
