#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>
#include <yaml-cpp/yaml.h>

#include <fmt/core.h>

#include "sim/io/foreign_tree.hpp"
#include "sim/io/other_formats.hpp"

/// The one file that knows yaml-cpp.
namespace twinstep::io {
namespace {

using Value = Node::Value;
using ValuePtr = ForeignTree::ValuePtr;

template <std::size_t N>
bool is_one_of(std::string_view text, std::array<std::string_view, N> const& words) {
  return std::ranges::find(words, text) != words.end();
}

/// The value of a whole text, or nothing.
template <class Number>
std::optional<Number> read_whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  constexpr std::string_view kOfNumbers = "0123456789.eE+-";
  if (text.find_first_not_of(kOfNumbers) != std::string_view::npos) return std::nullopt;
  auto number = Number{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class YamlReader {
 public:
  explicit YamlReader(ForeignTree& tree) : tree_{tree} {}

  /// `otherwise` is the place of a value that has none of its own: an empty one.
  ValuePtr read(YAML::Node const& node, std::size_t otherwise, std::size_t depth) {
    auto const mark = node.Mark();
    auto const offset = mark.is_null() ? otherwise : static_cast<std::size_t>(std::max(mark.pos, 0));
    tree_.check_depth(depth, offset);
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return tree_.make(offset, std::monostate{});
      case YAML::NodeType::Scalar: return read_scalar(node, offset);
      case YAML::NodeType::Sequence: break;
      case YAML::NodeType::Map: return read_map(node, offset, depth);
    }
    auto array = Value::Array{};
    for (auto const& element : node) array.push_back(read(element, offset, depth + 1));
    return tree_.make(offset, std::move(array));
  }

 private:
  /// Source of the words: PyYAML, resolver.py (YAML 1.1).
  ValuePtr read_scalar(YAML::Node const& node, std::size_t offset) {
    constexpr auto kNull = std::to_array<std::string_view>({"", "~", "null", "Null", "NULL"});
    constexpr auto kTrue =
        std::to_array<std::string_view>({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"});
    constexpr auto kFalse =
        std::to_array<std::string_view>({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"});
    auto const& text = node.Scalar();
    if (node.Tag() != "?") return tree_.make(offset, text);  // quoted, or tagged
    if (is_one_of(text, kNull)) return tree_.make(offset, std::monostate{});
    if (is_one_of(text, kTrue)) return tree_.make(offset, true);
    if (is_one_of(text, kFalse)) return tree_.make(offset, false);
    if (auto const whole = read_whole<std::int64_t>(text)) return tree_.make_number(offset, *whole);
    if (auto const number = read_whole<double>(text)) return tree_.make_number(offset, *number);
    return tree_.make(offset, text);
  }

  ValuePtr read_map(YAML::Node const& node, std::size_t offset, std::size_t depth) {
    auto object = Value::Object{};
    auto merged = std::vector<ValuePtr>{};
    for (auto const& member : node) {
      auto const key_offset = static_cast<std::size_t>(std::max(member.first.Mark().pos, 0));
      if (!member.first.IsScalar()) tree_.refuse(key_offset, "found a key that is no text, expected a name", "mend it");
      auto const& key = member.first.Scalar();
      if (key == "<<" && member.first.Tag() == "?") {
        merged.push_back(read(member.second, key_offset, depth + 1));
        continue;
      }
      if (find_member(object, key) != nullptr)
        tree_.refuse(key_offset, fmt::format("found the key {} a second time, expected it once", twinstep::quoted(key)),
                     "remove one of the two");
      object.push_back({key, key_offset, read(member.second, key_offset, depth + 1)});
    }
    for (auto const& maps : merged) merge(object, *maps);
    return tree_.make(offset, std::move(object));
  }

  /// What "<<" names: a map, or a list of them of which the first that has a key wins; a key of the map's own wins over
  /// all. Source: yaml.org/type/merge.html, as PyYAML does it.
  void merge(Value::Object& object, Value const& maps) const {
    if (auto const* const list = std::get_if<Value::Array>(&maps.content)) {
      for (auto const& map : *list) merge(object, *map);
    } else if (auto const* const map = std::get_if<Value::Object>(&maps.content)) {
      for (auto const& member : *map)
        if (find_member(object, member.key) == nullptr) object.push_back(member);
    } else {
      tree_.refuse(maps.offset, "found what is no map behind \"<<\", expected a map or a list of maps",
                   "write its keys out");
    }
  }

  ForeignTree& tree_;
};

}  // namespace

Node parse_yaml(Source source) {
  auto tree = ForeignTree{std::move(source), "YAML"};
  try {
    auto const documents = YAML::LoadAll(tree.text());
    if (documents.size() != 1)
      tree.refuse(0, fmt::format("found {} YAML documents, expected one", documents.size()), "keep one of them");
    return Node{YamlReader{tree}.read(documents.front(), 0, 0)};
  } catch (YAML::Exception const& error) {
    tree.refuse_syntax(static_cast<std::size_t>(std::max(error.mark.pos, 0)), error.msg);
  }
}

}  // namespace twinstep::io
