#include "sim/io/document_text.hpp"

#include "sim/base/utf8.hpp"
#include "sim/io/document_value.hpp"

namespace twinstep::io {
namespace {

using Value = Node::Value;
using Layout = JsonWriter::Layout;

/// Writes values, each object and array in the layout that `layout_of(value, depth)` gives.
template <class LayoutOf>
class DocumentWriter {
 public:
  DocumentWriter(JsonWriter& json, LayoutOf layout_of, bool breaks_empty = false)
      : json_{json}, layout_of_{std::move(layout_of)}, breaks_empty_{breaks_empty} {}

  void write(Value const& value, std::size_t depth = 0) {
    std::visit([&](auto const& content) { write_content(value, content, depth); }, value.content);
  }

 private:
  void write_content(Value const& /*value*/, std::monostate /*null*/, std::size_t /*depth*/) { json_.value(nullptr); }
  void write_content(Value const& /*value*/, bool fact, std::size_t /*depth*/) { json_.value(fact); }
  void write_content(Value const& /*value*/, std::string const& text, std::size_t /*depth*/) { json_.value(text); }
  void write_content(Value const& /*value*/, Value::Number const& number, std::size_t /*depth*/) {
    if (number.is_integer)
      json_.value(number.integer);
    else
      json_.value(number.number);
  }
  void write_content(Value const& value, Value::Array const& array, std::size_t depth) {
    if (array.empty() && breaks_empty_) return json_.raw("[\n" + std::string(2 * depth, ' ') + "]");
    json_.begin_array(layout_of_(value, depth));
    for (auto const& each : array) write(*each, depth + 1);
    json_.end_array();
  }
  void write_content(Value const& value, Value::Object const& object, std::size_t depth) {
    if (object.empty() && breaks_empty_) return json_.raw("{\n" + std::string(2 * depth, ' ') + "}");
    json_.begin_object(layout_of_(value, depth));
    for (auto const& each : object) {
      json_.key(each.key);
      write(*each.value, depth + 1);
    }
    json_.end_object();
  }

  JsonWriter& json_;
  LayoutOf layout_of_;
  bool breaks_empty_;  ///< the brackets of what is empty stand on two lines
};

void write_value(JsonWriter& json, Value const& value) {
  DocumentWriter{json, [](Value const& /*value*/, std::size_t /*depth*/) { return Layout::kByDepth; }}.write(value);
}

std::string line_of(Value const& value) {
  auto json = JsonWriter{JsonWriter::kOneLine};
  write_value(json, value);
  return std::move(json).text();
}

/// A number with its source stays on one line, however long that source is.
bool is_sourced(Value const& value) {
  auto const* object = std::get_if<Value::Object>(&value.content);
  return object != nullptr && find_member(*object, "value") != nullptr && find_member(*object, "source") != nullptr;
}

Layout layout_of(Value const& value, std::size_t depth) {
  constexpr std::size_t kLine = 100;
  return is_sourced(value) || line_of(value).size() + 2 * depth <= kLine ? Layout::kLine : Layout::kByDepth;
}

}  // namespace

std::string document_text(Node const& document) {
  auto json = JsonWriter{JsonWriter::kAllOnLines};
  DocumentWriter{json, layout_of}.write(document.value());
  return std::move(json).finish();
}

std::string document_lines(Node const& document) {
  auto const layout = [](Value const& value, std::size_t /*depth*/) {
    return is_sourced(value) ? Layout::kLine : Layout::kByDepth;
  };
  auto json = JsonWriter{JsonWriter::kAllOnLines};
  DocumentWriter{json, layout, true}.write(document.value());
  return std::move(json).finish();
}

std::string document_line(Node const& document) {
  return line_of(document.value());
}

void write(JsonWriter& json, Node const& document) {
  write_value(json, document.value());
}

std::string short_line(Node const& document) {
  constexpr auto kMost = std::size_t{100};
  auto text = document_line(document);
  if (text.size() <= kMost) return text;
  return std::string{whole_characters(text, kMost)} + "…";
}

}  // namespace twinstep::io
