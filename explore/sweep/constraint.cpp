#include "explore/sweep/constraint.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

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

namespace {

using ExpressionPtr = std::shared_ptr<Expression const>;

/// Recursive descent over the grammar, one function a rule.
class Parser {
 public:
  explicit Parser(io::Node const& written) : written_{&written}, rest_{written.string()} {}

  ExpressionPtr comparison() {
    auto const* const begin = start();
    auto left = sum();
    auto const name = next_of({"<=", ">=", "==", "!=", "<", ">"});
    if (name.empty()) fail("a comparison: <, <=, >, >=, == or !=");
    auto right = sum();
    skip_spaces();
    if (!rest_.empty()) fail("nothing after the comparison");
    return operation(begin, name, std::move(left), std::move(right));
  }

 private:
  ExpressionPtr sum() {
    auto const* const begin = start();
    auto left = product();
    for (auto name = next_of({"+", "-"}); !name.empty(); name = next_of({"+", "-"})) {
      auto right = product();
      left = operation(begin, name, std::move(left), std::move(right));
    }
    return left;
  }

  ExpressionPtr product() {
    auto const* const begin = start();
    auto left = factor();
    for (auto name = next_of({"*", "/", "%"}); !name.empty(); name = next_of({"*", "/", "%"})) {
      auto right = factor();
      left = operation(begin, name, std::move(left), std::move(right));
    }
    return left;
  }

  ExpressionPtr factor() {
    constexpr auto kDeepest = 100;
    constexpr auto kMostTerms = 1000;  // each makes the tree deeper
    if (++depth_ > kDeepest) fail("fewer parentheses");
    if (++terms_ > kMostTerms) fail("fewer terms");
    auto made = unary();
    --depth_;
    return made;
  }

  ExpressionPtr unary() {
    auto const* const begin = start();
    if (!next_of({"-"}).empty()) return operation(begin, "*", leaf("-1", Number{-1}), factor());
    if (next_of({"("}).empty()) return leaf();
    auto inner = sum();
    if (next_of({")"}).empty()) fail("\")\"");
    return inner;
  }

  ExpressionPtr leaf() {
    auto const first = rest_.empty() ? '\0' : rest_.front();
    if (first == '\'') return text();
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(first)) != 0) return word();
    fail("a path, a number, a text in single quotes or \"(\"");
  }

  ExpressionPtr text() {
    auto const end = rest_.find('\'', 1);
    if (end == std::string_view::npos) fail("a single quote at the end of the text");
    auto made = leaf(rest_.substr(0, end + 1), value_of_text(rest_.substr(1, end - 1)));
    rest_.remove_prefix(end + 1);
    return made;
  }

  ExpressionPtr number() {
    auto value = 0.0;
    auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) fail("a number");
    auto const size = static_cast<std::size_t>(end - rest_.data());
    auto made = leaf(rest_.substr(0, size), Number{value});
    rest_.remove_prefix(size);
    return made;
  }

  ExpressionPtr word() {
    auto const is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    auto const name = std::string{rest_.begin(), std::ranges::find_if_not(rest_, is_part)};
    rest_.remove_prefix(name.size());
    if (name == "null") return leaf(name, {});
    if (name == "true" || name == "false") return leaf(name, name == "true");
    return std::make_shared<Expression>(Expression{name, {}, nullptr, nullptr, {}, name});
  }

  static ExpressionPtr leaf(std::string_view text, Value value) {
    return std::make_shared<Expression>(Expression{std::string{text}, {}, nullptr, nullptr, std::move(value), {}});
  }

  /// What was read since `begin`.
  ExpressionPtr operation(char const* begin, std::string_view name, ExpressionPtr left, ExpressionPtr right) const {
    auto text = std::string{begin, rest_.data()};
    text.erase(text.find_last_not_of(kSpaces) + 1);
    return std::make_shared<Expression>(
        Expression{std::move(text), std::string{name}, std::move(left), std::move(right), {}, {}});
  }

  /// The first of `names` that comes next, and past it; "" if none does.
  std::string_view next_of(std::initializer_list<std::string_view> names) {
    skip_spaces();
    for (auto const name : names)
      if (rest_.starts_with(name)) {
        rest_.remove_prefix(name.size());
        return name;
      }
    return {};
  }

  char const* start() {
    skip_spaces();
    return rest_.data();
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size())); }

  [[noreturn]] void fail(std::string_view expected) const {
    auto const found = rest_.empty() ? std::string{"the end"} : twinstep::quoted(rest_);
    written_->fail(fmt::format("found {} in the constraint, expected {}", found, expected),
                   "write it like \"cluster.nodes * 8 <= training.global_batch\", a quantity like '400 Gb/s'");
  }

  static constexpr auto kSpaces = " \t\r\n";
  io::Node const* written_;
  std::string_view rest_;
  int depth_ = 0;
  int terms_ = 0;
};

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

void add_paths(Expression const& expression, std::vector<std::string>& paths) {
  if (!expression.path.empty()) paths.push_back(expression.path);
  if (expression.operation.empty()) return;
  add_paths(*expression.left, paths);
  add_paths(*expression.right, paths);
}

}  // namespace

Constraint::Constraint(io::Node const& text) : written_{text}, comparison_{Parser{text}.comparison()} {}

std::vector<std::string> Constraint::paths() const {
  auto paths = std::vector<std::string>{};
  add_paths(*comparison_, paths);
  return paths;
}

bool Constraint::holds(Lookup const& lookup) const {
  return Evaluation{written_, lookup}.holds(*comparison_);
}

}  // namespace twinstep::explore::sweep
