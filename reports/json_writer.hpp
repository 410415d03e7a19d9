#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace twinstep::reports {

/// Writes one JSON document piece by piece, always the same text for the same calls. The document and what it holds
/// directly stand on lines of their own; everything deeper is on one line.
///
/// Numbers are the shortest decimal that reads back as the same double; what is not finite becomes null.
class JsonWriter {
 public:
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
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
  /// In seconds.
  void value(Duration time) { value(to_seconds(time).count()); }
  template <class T>
  void value(std::optional<T> const& maybe) {
    if (maybe)
      value(*maybe);
    else
      value(nullptr);
  }

  template <class T>
  void member(std::string_view name, T const& its_value) {
    key(name);
    value(its_value);
  }

  /// The document, with a line end. Requires that everything that began has ended.
  [[nodiscard]] std::string finish() &&;

 private:
  void begin(char bracket);
  void end(char bracket);
  void whole(std::int64_t number);
  void before_value();
  void break_line();

  std::string text_;
  std::vector<bool> has_items_;  // of every open object and array
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

}  // namespace twinstep::reports
