#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/total_bytes.hpp"
#include "sim/base/units.hpp"

namespace twinstep::io {

/// `text` as a JSON string with its quotes.
[[nodiscard]] std::string json_string(std::string_view text);

/// Writes one JSON document piece by piece, always the same text for the same calls.
///
/// Objects and arrays down to a depth have their items on lines of their own, indented by two; what is deeper, or is
/// begun with Layout::kLine, is on one line. Numbers are the shortest decimal that reads back as the same double; what
/// is not finite becomes null.
class JsonWriter {
 public:
  enum class Layout : std::uint8_t {
    kByDepth,
    kLine  ///< with all that it holds
  };
  static constexpr std::size_t kOneLine = 0;
  static constexpr std::size_t kAllOnLines = std::numeric_limits<std::size_t>::max();

  /// @param depth_on_lines  of objects and arrays; 1 is the document itself
  explicit JsonWriter(std::size_t depth_on_lines = 2) : depth_on_lines_{depth_on_lines} {}

  void begin_object(Layout layout = Layout::kByDepth) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_array(Layout layout = Layout::kByDepth) { begin('[', layout); }
  void end_array() { end(']'); }
  /// Names the next value. Only inside an object.
  void key(std::string_view name);

  void value(std::string_view text);
  void value(char const* text) { value(std::string_view{text}); }
  void value(std::string const& text) { value(std::string_view{text}); }
  void value(double number);
  void value(bool fact);
  void value(std::nullptr_t);
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) void value(Integer number) { whole(static_cast<std::int64_t>(number)); }
  void value(Bytes bytes) { value(bytes.count()); }
  void value(TotalBytes bytes);
  /// In seconds.
  void value(Duration time) { value(to_seconds(time).count()); }
  template <class T>
  void value(std::optional<T> const& maybe) {
    if (maybe)
      value(*maybe);
    else
      value(nullptr);
  }
  /// A value that is JSON already.
  void raw(std::string_view json);

  template <class T>
  void member(std::string_view name, T const& its_value) {
    key(name);
    value(its_value);
  }

  /// The document, and the same with a line end. Both require that everything that began has ended.
  [[nodiscard]] std::string text() &&;
  [[nodiscard]] std::string finish() &&;

 private:
  struct Open {
    bool is_on_lines = false;
    bool has_items = false;
  };
  void begin(char bracket, Layout layout);
  void end(char bracket);
  void whole(std::int64_t number);
  void before_value();
  void new_line();

  std::size_t depth_on_lines_;
  std::string text_;
  std::vector<Open> open_;  // objects and arrays, outermost first
  bool follows_key_ = false;
};

/// `write(json, item)` for each item, as the array `key`.
template <class Items, class Write>
void write_array(JsonWriter& json, std::string_view key, Items const& items, Write const& write) {
  json.key(key);
  json.begin_array();
  for (auto const& item : items) write(json, item);
  json.end_array();
}

/// The values themselves, as the array `key`.
template <class Items>
void write_values(JsonWriter& json, std::string_view key, Items const& values) {
  write_array(json, key, values, [](JsonWriter& out, auto const& value) { out.value(value); });
}

}  // namespace twinstep::io
