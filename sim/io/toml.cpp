#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <toml.hpp>

#include <fmt/core.h>

#include "sim/io/foreign_tree.hpp"
#include "sim/io/other_formats.hpp"

/// The one file that knows toml11.
namespace twinstep::io {
namespace {

using Value = Node::Value;
using ValuePtr = ForeignTree::ValuePtr;
using Toml = toml::basic_value<toml::discard_comments, std::map, std::vector>;

/// Where a string that begins at `at` ends, or the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  auto const quote = text[at];
  auto const is_long = text.substr(at, 3) == std::string(3, quote);
  auto const end = is_long ? std::string(3, quote) : std::string(1, quote);
  for (auto i = at + end.size(); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"')
      ++i;
    else if (text.substr(i, end.size()) == end)
      return i + end.size();
    else if (text[i] == '\n' && !is_long)
      return i;
  }
  return text.size();
}

/// Throws where brackets or the parts of a dotted key nest too deep: the library recurses without a limit.
void check_nesting(ForeignTree const& tree) {
  auto const text = std::string_view{tree.text()};
  auto depth = std::size_t{0};
  auto dots = std::size_t{0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto const c = text[i];
    if (c == '#') i = std::min(text.find('\n', i), text.size()) - 1;
    if (c == '"' || c == '\'') i = end_of_string(text, i) - 1;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '.') ++dots;
    if (c == '=' || c == ',' || c == '\n') dots = 0;
    tree.check_depth(depth + dots, i);
  }
}

class TomlReader {
 public:
  explicit TomlReader(ForeignTree& tree) : tree_{tree} {}

  ValuePtr read(Toml const& value, std::size_t depth) {
    auto const offset = offset_of(value.location());
    tree_.check_depth(depth, offset);
    switch (value.type()) {
      case toml::value_t::empty: return tree_.make(offset, std::monostate{});
      case toml::value_t::boolean: return tree_.make(offset, value.as_boolean());
      case toml::value_t::integer: return tree_.make_number(offset, std::int64_t{value.as_integer()});
      case toml::value_t::floating: return read_number(value.as_floating(), offset);
      case toml::value_t::string: return tree_.make(offset, value.as_string().str);
      case toml::value_t::array: return read_array(value, offset, depth);
      case toml::value_t::table: return read_table(value, offset, depth);
      default: break;
    }
    return tree_.make(offset, toml::format(value));
  }

  /// Lines and columns count from 1.
  [[nodiscard]] std::size_t offset_of(toml::source_location const& location) const {
    auto start = std::size_t{0};
    for (auto line = std::size_t{1}; line < location.line(); ++line) {
      auto const end = tree_.text().find('\n', start);
      if (end == std::string::npos) break;
      start = end + 1;
    }
    return std::min(start + location.column() - 1, tree_.text().size());
  }

 private:
  ValuePtr read_number(double number, std::size_t offset) {
    if (!std::isfinite(number)) return tree_.make(offset, fmt::format("{}", number));
    return tree_.make_number(offset, number);
  }

  ValuePtr read_array(Toml const& value, std::size_t offset, std::size_t depth) {
    auto array = Value::Array{};
    for (auto const& element : value.as_array()) array.push_back(read(element, depth + 1));
    return tree_.make(offset, std::move(array));
  }

  /// Members in the order of the file, which the library forgets.
  ValuePtr read_table(Toml const& value, std::size_t offset, std::size_t depth) {
    auto object = Value::Object{};
    for (auto const& [key, member] : value.as_table()) {
      auto read_member = read(member, depth + 1);
      auto const place = read_member->offset;
      object.push_back({key, place, std::move(read_member)});
    }
    std::ranges::stable_sort(object, {}, &Value::Member::key_offset);
    return tree_.make(offset, std::move(object));
  }

  ForeignTree& tree_;
};

/// "missing key-value separator `=`" of "[error] toml::parse_key_value_pair: missing key-value separator `=`\n --> …".
std::string_view complaint_of(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  if (auto const colon = message.rfind(": "); colon != std::string_view::npos) message.remove_prefix(colon + 2);
  return message;
}

}  // namespace

Node parse_toml(Source source) {
  auto tree = ForeignTree{std::move(source), "TOML"};
  check_nesting(tree);
  auto reader = TomlReader{tree};
  auto stream = std::istringstream{tree.text()};
  auto document = std::optional<Toml>{};
  try {
    document = toml::parse<toml::discard_comments, std::map, std::vector>(stream, "");
  } catch (toml::exception const& error) {
    tree.refuse_syntax(reader.offset_of(error.location()), complaint_of(error.what()));
  } catch (std::exception const& error) {  // numbers and dates out of range
    tree.refuse_syntax(0, complaint_of(error.what()));
  }
  return Node{reader.read(*document, 0)};
}

}  // namespace twinstep::io
