#include "app/sweep/constraint.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace twinstep::app::sweep {

/// A leaf (no operation) or an operation on two expressions.
struct Constraint::Expression {
  std::string operation;  ///< "+", "<=", …; empty for a leaf
  std::shared_ptr<Expression const> left;
  std::shared_ptr<Expression const> right;
  Value constant;    ///< of a leaf that is no path
  std::string path;  ///< of a leaf that is one
};

namespace {

using Value = Constraint::Value;
using Expression = Constraint::Expression;
using ExpressionPtr = std::shared_ptr<Expression const>;

ExpressionPtr operation(std::string_view name, ExpressionPtr left, ExpressionPtr right) {
  return std::make_shared<Expression>(Expression{std::string{name}, std::move(left), std::move(right), {}, {}});
}

ExpressionPtr constant(Value value) {
  return std::make_shared<Expression>(Expression{{}, nullptr, nullptr, std::move(value), {}});
}

/// Recursive descent over the grammar in the header, one function a rule.
class Parser {
 public:
  explicit Parser(io::Node const& written) : written_{&written}, rest_{written.string()} {}

  ExpressionPtr comparison() {
    auto left = sum();
    auto const name = next_of({"<=", ">=", "==", "!=", "<", ">"});
    if (name.empty()) fail("a comparison: <, <=, >, >=, == or !=");
    auto right = sum();
    skip_spaces();
    if (!rest_.empty()) fail("nothing after the comparison");
    return operation(name, std::move(left), std::move(right));
  }

  std::vector<std::string> paths;

 private:
  ExpressionPtr sum() {
    auto left = product();
    for (auto name = next_of({"+", "-"}); !name.empty(); name = next_of({"+", "-"}))
      left = operation(name, std::move(left), product());
    return left;
  }

  ExpressionPtr product() {
    auto left = factor();
    for (auto name = next_of({"*", "/", "%"}); !name.empty(); name = next_of({"*", "/", "%"}))
      left = operation(name, std::move(left), factor());
    return left;
  }

  ExpressionPtr factor() {
    constexpr auto kDeepest = 100;
    constexpr auto kMostTerms = 1000;  // each makes the tree deeper
    if (++depth_ > kDeepest) fail("fewer parentheses");
    if (++terms_ > kMostTerms) fail("fewer terms");
    auto const leave = [this](ExpressionPtr made) {
      --depth_;
      return made;
    };
    if (!next_of({"-"}).empty()) return leave(operation("-", constant(0.0), factor()));
    if (!next_of({"("}).empty()) {
      auto inner = sum();
      if (next_of({")"}).empty()) fail("\")\"");
      return leave(std::move(inner));
    }
    return leave(leaf());
  }

  ExpressionPtr leaf() {
    skip_spaces();
    auto const first = rest_.empty() ? '\0' : rest_.front();
    if (first == '\'') return text();
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(first)) != 0) return path();
    fail("a path, a number, a text in single quotes or \"(\"");
  }

  ExpressionPtr text() {
    auto const end = rest_.find('\'', 1);
    if (end == std::string_view::npos) fail("a single quote at the end of the text");
    auto made = constant(std::string{rest_.substr(1, end - 1)});
    rest_.remove_prefix(end + 1);
    return made;
  }

  ExpressionPtr number() {
    auto value = 0.0;
    auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) fail("a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return constant(value);
  }

  ExpressionPtr path() {
    auto const is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    auto const end = std::ranges::find_if_not(rest_, is_part);
    auto name = std::string{rest_.begin(), end};
    rest_.remove_prefix(name.size());
    paths.push_back(name);
    return std::make_shared<Expression>(Expression{{}, nullptr, nullptr, {}, std::move(name)});
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

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  [[noreturn]] void fail(std::string_view expected) const {
    auto const found = rest_.empty() ? std::string{"the end"} : twinstep::quoted(rest_);
    written_->fail(fmt::format("found {} in the constraint, expected {}", found, expected),
                   "write it like \"cluster.nodes * 8 <= training.global_batch\"");
  }

  io::Node const* written_;
  std::string_view rest_;
  int depth_ = 0;
  int terms_ = 0;
};

double calculated(std::string_view name, double left, double right) {
  switch (name.front()) {
    case '+': return left + right;
    case '-': return left - right;
    case '*': return left * right;
    case '/': return left / right;
    default: return std::fmod(left, right);
  }
}

bool compared(std::string_view name, double left, double right) {
  if (name == "<") return left < right;
  if (name == "<=") return left <= right;
  if (name == ">") return left > right;
  if (name == ">=") return left >= right;
  return (left == right) == (name == "==");
}

Value evaluated(Expression const& expression, Constraint const& constraint, Constraint::Lookup const& lookup) {
  if (!expression.path.empty()) return lookup(expression.path);
  if (expression.operation.empty()) return expression.constant;
  auto const left = evaluated(*expression.left, constraint, lookup);
  auto const right = evaluated(*expression.right, constraint, lookup);
  if (left.index() == 0 || right.index() == 0) return {};
  if (left.index() != 1 || right.index() != 1)
    constraint.written().fail(fmt::format("found a text where {} needs numbers", expression.operation),
                              "compare texts with == and !=");
  return calculated(expression.operation, std::get<double>(left), std::get<double>(right));
}

}  // namespace

Constraint::Constraint(io::Node const& text) : written_{text} {
  auto parser = Parser{written_};
  expression_ = parser.comparison();
  paths_ = std::move(parser.paths);
}

bool Constraint::holds(Lookup const& lookup) const {
  auto const& name = expression_->operation;
  auto const left = evaluated(*expression_->left, *this, lookup);
  auto const right = evaluated(*expression_->right, *this, lookup);
  if (left.index() == 0 || right.index() == 0) return true;
  auto const* number = std::get_if<double>(&left);
  if (number != nullptr && right.index() == 1) return compared(name, *number, std::get<double>(right));
  if (name != "==" && name != "!=")
    written_.fail(fmt::format("found a text beside {}, expected numbers", name), "compare texts with == and !=");
  return (left == right) == (name == "==");
}

}  // namespace twinstep::app::sweep
