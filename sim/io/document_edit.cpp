#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "sim/io/document.hpp"
#include "sim/io/document_value.hpp"

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

/// "--set a.b=1", taken apart.
struct Setting {
  std::string name;  ///< for messages
  std::vector<std::string_view> keys;
  ValuePtr value;
};

[[noreturn]] void refuse(std::string_view name, std::string_view found, std::string_view way_out) {
  throw InputError{fmt::format("{}: {}; {}", name, found, way_out)};
}

/// A value that looks like JSON must be JSON; everything else may be plain text, so that shells need few quotes.
ValuePtr read_value(std::string const& name, std::string_view text) {
  try {
    return parse({name, std::string{text}, false}).shared_value();
  } catch (InputError const&) {
    if (text.starts_with('{') || text.starts_with('[') || text.starts_with('"')) throw;
    return string_node(std::string{text}, name).shared_value();
  }
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

Setting read_setting(std::string_view text) {
  auto setting = Setting{fmt::format("--set {}", one_line(text)), {}, nullptr};
  auto const equals = text.find('=');
  if (equals == std::string_view::npos)
    refuse(setting.name, "found no \"=\", expected path=value", "write it like cluster.nodes=16");
  setting.keys = keys_of(text.substr(0, equals), setting.name);
  setting.value = read_value(setting.name, text.substr(equals + 1));
  return setting;
}

/// `base` (nothing where the path leaves the document) with the value at `keys` replaced.
ValuePtr replaced(ValuePtr const& base, std::span<std::string_view const> keys, Setting const& setting) {
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

Value::Object const& members_of(Node const& node) {
  // `has` explains what is wrong with anything but an object.
  static_cast<void>(node.has(""));
  return std::get<Value::Object>(node.value().content);
}

}  // namespace

Node merge(Node const& base, Node const& patch) {
  return Node{merged(base.shared_value(), patch.shared_value(), base.path()), base.step()};
}

Node with_setting(Node const& base, std::string_view setting) {
  auto const read = read_setting(setting);
  return Node{replaced(base.shared_value(), read.keys, read), base.step()};
}

Node with_value(Node const& base, std::string_view path, Node const& value) {
  auto setting = Setting{one_line(path), {}, value.shared_value()};
  setting.keys = keys_of(path, setting.name);
  return Node{replaced(base.shared_value(), setting.keys, setting), base.step()};
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
