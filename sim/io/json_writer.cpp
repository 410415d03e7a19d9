#include "sim/io/json_writer.hpp"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/utf8.hpp"

namespace twinstep::io {

std::string json_string(std::string_view text) {
  auto out = std::string{'"'};
  for (std::size_t i = 0; i < text.size();) {
    auto const [number, bytes] = first_character(text.substr(i));
    if (!number) {
      out += "\\ufffd";  // what is no UTF-8 has no character
    } else if (is_control(*number)) {
      out += *number == '\n'   ? std::string{"\\n"}
             : *number == '\t' ? std::string{"\\t"}
                               : fmt::format("\\u{:04x}", static_cast<unsigned>(*number));
    } else {
      if (*number == '"' || *number == '\\') out += '\\';
      out += text.substr(i, bytes);
    }
    i += bytes;
  }
  return out + '"';
}

void JsonWriter::key(std::string_view name) {
  before_value();
  text_ += json_string(name) + ": ";
  follows_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before_value();
  text_ += json_string(text);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return value(nullptr);
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", number);
}

void JsonWriter::value(bool fact) {
  raw(fact ? "true" : "false");
}

void JsonWriter::value(std::nullptr_t) {
  raw("null");
}

void JsonWriter::raw(std::string_view json) {
  before_value();
  text_ += json;
}

void JsonWriter::value(TotalBytes bytes) {
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", bytes.count());
}

void JsonWriter::whole(std::int64_t number) {
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", number);
}

std::string JsonWriter::text() && {
  TWINSTEP_CHECK(open_.empty() && !text_.empty(), "a JSON document ends what it began");
  return std::move(text_);
}

std::string JsonWriter::finish() && {
  return std::move(*this).text() + "\n";
}

void JsonWriter::begin(char bracket, Layout layout) {
  before_value();
  text_ += bracket;
  auto const is_around_on_lines = open_.empty() || open_.back().is_on_lines;
  open_.push_back({is_around_on_lines && layout == Layout::kByDepth && open_.size() < depth_on_lines_, false});
}

void JsonWriter::end(char bracket) {
  auto const ended = open_.back();
  open_.pop_back();
  if (ended.has_items && ended.is_on_lines) new_line();
  text_ += bracket;
}

void JsonWriter::before_value() {
  if (std::exchange(follows_key_, false) || open_.empty()) return;
  auto& [is_on_lines, has_items] = open_.back();
  if (std::exchange(has_items, true)) text_ += is_on_lines ? "," : ", ";
  if (is_on_lines) new_line();
}

void JsonWriter::new_line() {
  text_ += '\n' + std::string(2 * open_.size(), ' ');
}

}  // namespace twinstep::io
