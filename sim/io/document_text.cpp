#include "sim/io/document_text.hpp"

#include <fmt/format.h>

#include "sim/io/document_value.hpp"

namespace twinstep::io {
namespace {

using Value = Node::Value;

constexpr std::size_t kLine = 100;

std::string scalar_text(Value const& value) {
  if (auto const* fact = std::get_if<bool>(&value.content)) return *fact ? "true" : "false";
  if (auto const* text = std::get_if<std::string>(&value.content)) return json_string(*text);
  if (auto const* number = std::get_if<Value::Number>(&value.content))
    return number->is_integer ? fmt::format("{}", number->integer) : fmt::format("{}", number->number);
  return "null";
}

/// On one line.
std::string short_text(Value const& value) {
  auto text = std::string{};
  if (auto const* array = std::get_if<Value::Array>(&value.content)) {
    for (auto const& each : *array) text += (text.empty() ? "" : ", ") + short_text(*each);
    return "[" + text + "]";
  }
  if (auto const* object = std::get_if<Value::Object>(&value.content)) {
    for (auto const& each : *object)
      text += (text.empty() ? "" : ", ") + json_string(each.key) + ": " + short_text(*each.value);
    return "{" + text + "}";
  }
  return scalar_text(value);
}

/// A number with its source stays on one line, however long that source is.
bool is_sourced(Value::Object const& object) {
  return find_member(object, "value") != nullptr && find_member(object, "source") != nullptr;
}

std::string long_text(Value const& value, std::size_t indent) {
  auto const* array = std::get_if<Value::Array>(&value.content);
  auto const* object = std::get_if<Value::Object>(&value.content);
  auto line = short_text(value);
  if ((array == nullptr && object == nullptr) || line.size() + indent <= kLine || (object && is_sourced(*object)))
    return line;
  auto const margin = std::string(indent + 2, ' ');
  auto text = std::string{};
  if (array != nullptr)
    for (auto const& each : *array) text += (text.empty() ? "\n" : ",\n") + margin + long_text(*each, indent + 2);
  else
    for (auto const& each : *object)
      text +=
          (text.empty() ? "\n" : ",\n") + margin + json_string(each.key) + ": " + long_text(*each.value, indent + 2);
  text += "\n" + std::string(indent, ' ');
  return array != nullptr ? "[" + text + "]" : "{" + text + "}";
}

}  // namespace

std::string document_text(Node const& document) {
  return long_text(document.value(), 0) + "\n";
}

std::string document_line(Node const& document) {
  return short_text(document.value());
}

}  // namespace twinstep::io
