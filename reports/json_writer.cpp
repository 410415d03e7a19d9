#include "reports/json_writer.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/io/document.hpp"

namespace twinstep::reports {
namespace {

/// Objects and arrays down to this depth have their items on lines of their own.
constexpr std::size_t kDeepestOnLines = 2;

}  // namespace

void JsonWriter::key(std::string_view name) {
  before_value();
  text_ += io::json_string(name) + ": ";
  follows_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before_value();
  text_ += io::json_string(text);
}

void JsonWriter::value(double number) {
  before_value();
  text_ += std::isfinite(number) ? fmt::format("{}", number) : "null";
}

void JsonWriter::value(bool fact) {
  before_value();
  text_ += fact ? "true" : "false";
}

void JsonWriter::value(std::nullptr_t) {
  before_value();
  text_ += "null";
}

void JsonWriter::whole(std::int64_t number) {
  before_value();
  text_ += fmt::format("{}", number);
}

std::string JsonWriter::finish() && {
  TWINSTEP_CHECK(has_items_.empty() && !text_.empty(), "a JSON document ends what it began");
  return std::move(text_) + "\n";
}

void JsonWriter::begin(char bracket) {
  before_value();
  text_ += bracket;
  has_items_.push_back(false);
}

void JsonWriter::end(char bracket) {
  auto const had_items = bool{has_items_.back()};
  has_items_.pop_back();
  if (had_items) break_line();
  text_ += bracket;
}

void JsonWriter::before_value() {
  if (follows_key_) {
    follows_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += has_items_.size() > kDeepestOnLines ? ", " : ",";
  if (has_items_.size() <= kDeepestOnLines) text_ += "\n" + std::string(2 * has_items_.size(), ' ');
  has_items_.back() = true;
}

/// Before a closing bracket.
void JsonWriter::break_line() {
  if (has_items_.size() < kDeepestOnLines) text_ += "\n" + std::string(2 * has_items_.size(), ' ');
}

}  // namespace twinstep::reports
