#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "sim/io/change.hpp"
#include "sim/io/document.hpp"
#include "sim/io/document_text.hpp"
#include "sim/io/document_value.hpp"
#include "sim/io/json_writer.hpp"

/// New documents out of old ones. Values are shared, never changed.
namespace twinstep::io {
namespace {

using Value = Node::Value;
using ValuePtr = std::shared_ptr<Value const>;

/// A value with the place of `like` and other content.
template <class Content>
std::shared_ptr<Value> remake(Value const& like, Content content) {
  auto value = std::make_shared<Value>();
  value->content = std::move(content);
  value->source = like.source;
  value->offset = like.offset;
  return value;
}

void set_member(Value::Object& object, std::string_view key, ValuePtr value, std::size_t key_offset) {
  auto const found = std::ranges::find(object, key, &Value::Member::key);
  if (found == object.end())
    object.push_back({std::string{key}, key_offset, std::move(value)});
  else
    *found = {found->key, key_offset, std::move(value)};
}

bool has_only_indices(Value::Object const& object) {
  return !object.empty() && std::ranges::all_of(object, [](auto const& m) { return read_index(m.key).has_value(); });
}

ValuePtr merged(ValuePtr const& base, ValuePtr const& patch, std::string const& path) {
  auto const* changes = std::get_if<Value::Object>(&patch->content);
  if (changes == nullptr) return patch;
  if (auto const* old = std::get_if<Value::Object>(&base->content)) {
    auto object = *old;
    for (auto const& member : *changes) {
      auto const* present = find_member(*old, member.key);
      set_member(object, member.key,
                 present == nullptr ? member.value : merged(present->value, member.value, path + "/" + member.key),
                 member.key_offset);
    }
    return remake(*base, std::move(object));
  }
  if (auto const* old = std::get_if<Value::Array>(&base->content); old != nullptr && has_only_indices(*changes)) {
    auto array = *old;
    for (auto const& member : *changes) {
      auto const index = read_index(member.key).value_or(array.size());
      if (index >= array.size())
        throw InputError{fmt::format("{}{}: found the index {}, expected one below {}; the array has no more elements",
                                     place_of(*member.value->source, member.value->offset), path, member.key,
                                     array.size())};
      array[index] = merged(array[index], member.value, path + "/" + member.key);
    }
    return remake(*base, std::move(array));
  }
  return patch;
}

/// A change on its way into a document.
struct Placed {
  std::string name;  ///< for messages
  ValuePtr value;
};

[[noreturn]] void refuse(std::string_view name, std::string_view found, std::string_view way_out) {
  throw InputError{fmt::format("{}: {}; {}", name, found, way_out)};
}

/// The names in a dotted path; `setting` is what messages call it.
std::vector<std::string_view> keys_of(std::string_view path, std::string const& setting) {
  auto keys = std::vector<std::string_view>{};
  while (true) {
    auto const dot = path.find('.');
    auto const key = path.substr(0, dot);
    if (key.empty())
      refuse(setting, "found an empty name in the path, expected names with dots between them",
             "write it like cluster.nodes=16");
    keys.push_back(key);
    constexpr std::size_t kDeepest = 128;  // as deep as a document nests
    if (keys.size() > kDeepest)
      refuse(quoted(setting), fmt::format("found more than {} names in the path, expected fewer", kDeepest),
             "write it like cluster.nodes=16");
    if (dot == std::string_view::npos) return keys;
    path.remove_prefix(dot + 1);
  }
}

/// `base` (nothing where the path leaves the document) with the value at `keys` replaced.
ValuePtr replaced(ValuePtr const& base, std::span<std::string_view const> keys, Placed const& setting) {
  if (keys.empty()) return setting.value;
  auto const key = keys.front();
  auto const rest = keys.subspan(1);
  if (base == nullptr || std::holds_alternative<std::monostate>(base->content))
    return remake(*setting.value,
                  Value::Object{{std::string{key}, setting.value->offset, replaced(nullptr, rest, setting)}});
  if (auto const* array = std::get_if<Value::Array>(&base->content)) {
    auto const index = read_index(key);
    if (!index || *index >= array->size())
      refuse(setting.name, fmt::format("found {} as an index, expected one below {}", quoted(key), array->size()),
             "elements are counted from 0");
    auto changed = *array;
    changed[*index] = replaced((*array)[*index], rest, setting);
    return remake(*base, std::move(changed));
  }
  auto object = Value::Object{};
  if (std::holds_alternative<std::string>(base->content)) {
    object.push_back({"profile", 0, base});
  } else if (auto const* members = std::get_if<Value::Object>(&base->content)) {
    object = *members;
  } else {
    refuse(setting.name, fmt::format("found {} above {}, expected an object there", describe(*base), quoted(key)),
           "shorten the path");
  }
  auto const* member = find_member(object, key);
  set_member(object, key, replaced(member == nullptr ? nullptr : member->value, rest, setting), setting.value->offset);
  return remake(*base, std::move(object));
}

/// The value and all in it, as if they had been written in `source`.
ValuePtr rewritten(std::shared_ptr<Source const> const& source, Value const& value) {
  auto copy = std::make_shared<Value>(Value{value.content, source, 0});
  if (auto* array = std::get_if<Value::Array>(&copy->content))
    for (auto& element : *array) element = rewritten(source, *element);
  if (auto* object = std::get_if<Value::Object>(&copy->content))
    for (auto& member : *object) member = {member.key, 0, rewritten(source, *member.value)};
  return copy;
}

/// The value as a shell would be given it: a string without quotes, unless it would be read as something else.
std::string plain_text(Node const& value) {
  if (!value.is(Node::Type::kString)) return document_line(value);
  auto const text = std::string{value.string()};
  auto const looks_like_json = text.starts_with('{') || text.starts_with('[') || text.starts_with('"');
  return looks_like_json || !read_value({}, text).is(Node::Type::kString) ? json_string(text) : text;
}

template <class Content>
Node made(Content content) {
  static auto const kSource = std::make_shared<Source const>(Source{.name = {}, .text = {}, .has_lines = false});
  return Node{std::make_shared<Value const>(Value{std::move(content), kSource, 0})};
}

Value::Object const& members_of(Node const& node) {
  // `has` explains what is wrong with anything but an object.
  static_cast<void>(node.has(""));
  return std::get<Value::Object>(node.value().content);
}

}  // namespace

Node merge(Node const& base, Node const& patch) {
  return Node{merged(base.shared_value(), patch.shared_value(), base.path()), base.step()};
}

/// What looks like JSON must be JSON; everything else may be plain text, so that shells need few quotes.
Node read_value(std::string const& name, std::string_view text) {
  try {
    return parse({name, std::string{text}, false});
  } catch (InputError const&) {
    if (text.starts_with('{') || text.starts_with('[') || text.starts_with('"')) throw;
    return string_node(std::string{text}, name);
  }
}

Change read_change(std::string_view option, std::string_view text) {
  auto const name = fmt::format("{} {}", option, one_line(text));
  auto const equals = text.find('=');
  if (equals == std::string_view::npos)
    refuse(name, "found no \"=\", expected path=value", "write it like cluster.nodes=16");
  static_cast<void>(keys_of(text.substr(0, equals), name));
  return {std::string{text.substr(0, equals)}, read_value(name, text.substr(equals + 1))};
}

std::vector<Change> read_changes(std::string_view option, std::vector<std::string> const& texts) {
  auto changes = std::vector<Change>{};
  for (auto const& text : texts) changes.push_back(read_change(option, text));
  return changes;
}

Node written_in(std::string name, Node const& value) {
  auto source = Source{.name = std::move(name), .text = document_line(value), .has_lines = false};
  return Node{rewritten(std::make_shared<Source const>(std::move(source)), value.value())};
}

Change change_to(std::string path, Node const& value) {
  auto source = Source{.name = {}, .text = plain_text(value), .has_lines = false};
  source.name = fmt::format("--set {}", one_line(fmt::format("{}={}", path, source.text)));
  return {std::move(path), Node{rewritten(std::make_shared<Source const>(std::move(source)), value.value())}};
}

std::string text_of(Change const& change) {
  return fmt::format("{}={}", change.path, change.value.source().text);
}

std::vector<std::string> texts_of(std::vector<Change> const& changes) {
  auto texts = std::vector<std::string>{};
  for (auto const& change : changes) texts.push_back(text_of(change));
  return texts;
}

std::string const& option_of(Change const& change) {
  return change.value.source().name;
}

Node with_change(Node const& base, Change const& change) {
  auto const placed = Placed{option_of(change), change.value.shared_value()};
  return Node{replaced(base.shared_value(), keys_of(change.path, placed.name), placed), base.step()};
}

Node with_value(Node const& base, std::string_view path, Node const& value) {
  auto const placed = Placed{one_line(path), value.shared_value()};
  return Node{replaced(base.shared_value(), keys_of(path, placed.name), placed), base.step()};
}

Node value_node(std::nullptr_t) {
  return made(std::monostate{});
}
Node value_node(bool value) {
  return made(value);
}
Node value_node(std::int64_t value) {
  return made(Value::Number{.number = static_cast<double>(value), .integer = value, .is_integer = true});
}
Node value_node(std::string_view value) {
  return made(std::string{value});
}
Node value_node(std::vector<std::pair<std::string_view, Node>> const& members) {
  auto object = Value::Object{};
  for (auto const& [key, member] : members) object.push_back({std::string{key}, 0, member.shared_value()});
  return made(std::move(object));
}

Node with_member(Node const& base, std::string_view key, Node const& member) {
  auto object = members_of(base);
  set_member(object, key, member.shared_value(), member.value().offset);
  return Node{remake(base.value(), std::move(object)), base.step()};
}

Node without_member(Node const& base, std::string_view key) {
  auto object = members_of(base);
  std::erase_if(object, [key](auto const& member) { return member.key == key; });
  return Node{remake(base.value(), std::move(object)), base.step()};
}

}  // namespace twinstep::io
