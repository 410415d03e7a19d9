#include "sim/io/document.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/utf8.hpp"
#include "sim/io/document_value.hpp"
#include "sim/io/quantity.hpp"

namespace twinstep::io {
namespace {

using Value = Node::Value;

Node child(Node const& parent, std::string key, std::shared_ptr<Value const> value) {
  return Node{std::move(value), std::make_shared<Node::Step const>(Node::Step{parent.step(), std::move(key)})};
}

/// A key as a part of a JSON pointer (RFC 6901).
std::string pointer_part(std::string_view key) {
  auto text = std::string{"/"};
  for (auto const c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

template <class Error = InputError>
[[noreturn]] void fail_at(Source const& source, std::size_t offset, std::string_view path, std::string_view found,
                          std::string_view way_out) {
  throw Error{fmt::format("{}{}{}{}{}{}", place_of(source, offset), path, path.empty() ? "" : ": ", found,
                          way_out.empty() ? "" : "; ", way_out)};
}

std::vector<std::string_view> keys_of(Value::Object const& object) {
  auto keys = std::vector<std::string_view>{};
  for (auto const& member : object) keys.push_back(member.key);
  return keys;
}

}  // namespace

Node::Type Node::type() const {
  return static_cast<Type>(value_->content.index());
}

bool Node::has(std::string_view key) const {
  auto const* object = std::get_if<Value::Object>(&value_->content);
  if (object == nullptr) fail_type("an object in braces");
  return find_member(*object, key) != nullptr;
}

std::optional<Node> Node::find(std::string_view key) const {
  auto const* object = std::get_if<Value::Object>(&value_->content);
  if (object == nullptr) fail_type("an object in braces");
  auto const* member = find_member(*object, key);
  if (member == nullptr || member->value->content.index() == 0) return std::nullopt;
  return child(*this, member->key, member->value);
}

Node Node::at(std::string_view key) const {
  if (auto found = find(key)) return *std::move(found);
  if (has(key)) {
    auto const* member = find_member(std::get<Value::Object>(value_->content), key);
    child(*this, member->key, member->value).fail("found null, expected a value", "give it one");
  }
  auto const near = nearest_name(key, keys_of(std::get<Value::Object>(value_->content)));
  fail(fmt::format("found no \"{}\" in this object, expected it", key),
       near.empty() ? std::string{"add it"} : fmt::format("add it, or is \"{}\" meant to be it?", near));
}

std::vector<std::pair<std::string_view, Node>> Node::members() const {
  auto const* object = std::get_if<Value::Object>(&value_->content);
  if (object == nullptr) fail_type("an object in braces");
  auto result = std::vector<std::pair<std::string_view, Node>>{};
  result.reserve(object->size());
  for (auto const& member : *object) result.emplace_back(member.key, child(*this, member.key, member.value));
  return result;
}

void Node::allow_only(std::span<std::string_view const> known) const {
  auto const* object = std::get_if<Value::Object>(&value_->content);
  if (object == nullptr) fail_type("an object in braces");
  for (auto const& member : *object) {
    if (member.key == "$schema" || member.key == "comment") continue;
    if (std::ranges::find(known, member.key) != known.end()) continue;
    fail_at<UnknownKey>(*member.value->source, member.key_offset, path(),
                        fmt::format("found the unknown key {}", quoted(member.key)),
                        suggest_name(member.key, {known.begin(), known.end()}));
  }
}

std::vector<Node> Node::elements() const {
  auto const* array = std::get_if<Value::Array>(&value_->content);
  if (array == nullptr) fail_type("an array in brackets");
  auto result = std::vector<Node>{};
  result.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) result.push_back(child(*this, std::to_string(i), (*array)[i]));
  return result;
}

std::string_view Node::string() const {
  if (auto const* text = std::get_if<std::string>(&value_->content)) return *text;
  fail_type("text in double quotes");
}

bool Node::boolean() const {
  if (auto const* fact = std::get_if<bool>(&value_->content)) return *fact;
  fail_type("true or false, without quotes");
}

double Node::number() const {
  if (auto const* number = std::get_if<Value::Number>(&value_->content)) return number->number;
  fail_type("a number without quotes");
}

std::int64_t Node::integer() const {
  auto const* number = std::get_if<Value::Number>(&value_->content);
  if (number == nullptr) fail_type("a whole number without quotes");
  if (number->is_integer) return number->integer;
  // 1e6 is a whole number too; 2^53 is where doubles stop telling neighbours apart.
  if (std::trunc(number->number) != number->number || std::abs(number->number) > 0x1p53)
    fail_type("a whole number of at most 9007199254740992");
  return static_cast<std::int64_t>(number->number);
}

std::int64_t Node::integer_from(std::int64_t least) const {
  auto const value = integer();
  if (value < least) fail(fmt::format("found {}, expected a whole number of at least {}", value, least), "raise it");
  return value;
}

std::string_view Node::quantity_text(std::string_view expected) const {
  if (auto const* text = std::get_if<std::string>(&value_->content)) return *text;
  if (is(Type::kNumber)) fail_quantity(fmt::format("{} has no unit, expected {}", describe(*value_), expected));
  fail_type(expected);
}

void Node::fail_quantity(std::string_view problem) const {
  fail(problem, "");
}

Bytes Node::bytes() const {
  auto const text = quantity_text(expectation(Dimension::kSize));
  try {
    return read_bytes(text);
  } catch (InputError const& error) {
    fail_quantity(error.what());
  }
}

Duration Node::duration() const {
  auto const text = quantity_text(expectation(Dimension::kTime));
  try {
    return read_duration(text);
  } catch (InputError const& error) {
    fail_quantity(error.what());
  }
}

BytesPerSecond Node::bandwidth() const {
  auto const text = quantity_text(expectation(Dimension::kBandwidth));
  try {
    return read_bandwidth(text);
  } catch (InputError const& error) {
    fail_quantity(error.what());
  }
}

FlopsPerSecond Node::flop_rate() const {
  auto const text = quantity_text(expectation(Dimension::kFlopRate));
  try {
    return read_flop_rate(text);
  } catch (InputError const& error) {
    fail_quantity(error.what());
  }
}

std::string Node::path() const {
  auto text = std::string{};
  for (auto const* step = step_.get(); step != nullptr; step = step->parent.get())
    text.insert(0, pointer_part(step->key));
  return text;
}

Source const& Node::source() const {
  return *value_->source;
}

void Node::fail(std::string_view found, std::string_view way_out) const {
  fail_at(*value_->source, value_->offset, path(), found, way_out);
}

void Node::fail_word(std::vector<std::string_view> const& known) const {
  fail(fmt::format("found {}, expected one of {}", describe(*value_), fmt::join(known, ", ")),
       suggest_name(string(), known).starts_with("known") ? "choose one of them" : suggest_name(string(), known));
}

void Node::fail_type(std::string_view expected) const {
  fail(fmt::format("found {}, expected {}", describe(*value_), expected), "");
}

Value::Member const* find_member(Value::Object const& object, std::string_view key) {
  auto const found = std::ranges::find(object, key, &Value::Member::key);
  return found == object.end() ? nullptr : &*found;
}

std::string place_of(Source const& source, std::size_t offset) {
  if (!source.has_lines) return fmt::format("{}: ", one_line(source.name));
  auto const before = std::string_view{source.text}.substr(0, offset);
  auto const line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}:{}: ", one_line(source.name), 1 + std::ranges::count(before, '\n'),
                     1 + character_count(before.substr(line_start)));
}

std::string describe(Value const& value) {
  switch (static_cast<Node::Type>(value.content.index())) {
    case Node::Type::kNull: return "null";
    case Node::Type::kBoolean: return std::get<bool>(value.content) ? "true" : "false";
    case Node::Type::kNumber: {
      auto const& number = std::get<Value::Number>(value.content);
      return number.is_integer ? fmt::format("{}", number.integer) : fmt::format("{}", number.number);
    }
    case Node::Type::kString: return quoted(std::get<std::string>(value.content));
    case Node::Type::kArray: return "an array";
    case Node::Type::kObject: return "an object";
  }
  return "a value";
}

std::optional<std::size_t> read_index(std::string_view key) {
  auto index = std::size_t{0};
  auto const [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (key.empty() || error != std::errc{} || end != key.data() + key.size()) return std::nullopt;
  return index;
}

}  // namespace twinstep::io
