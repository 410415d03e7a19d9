#include "explore/sweep/expression.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace twinstep::explore::sweep {
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

void add_paths(Expression const& expression, std::vector<std::string>& paths) {
  if (!expression.path.empty()) paths.push_back(expression.path);
  if (expression.operation.empty()) return;
  add_paths(*expression.left, paths);
  add_paths(*expression.right, paths);
}

}  // namespace

std::shared_ptr<Expression const> parse_comparison(io::Node const& written) {
  return Parser{written}.comparison();
}

std::vector<std::string> paths_of(Expression const& expression) {
  auto paths = std::vector<std::string>{};
  add_paths(expression, paths);
  return paths;
}

}  // namespace twinstep::explore::sweep
