#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "sim/base/utf8.hpp"
#include "sim/io/document.hpp"
#include "sim/io/document_value.hpp"

/// Parsing of JSON (RFC 8259) by recursive descent, and of what other programs take for it (`Dialect::kForeign`). Every
/// value remembers where it stands, and what is no JSON is refused in terms of the text: what stands there, and what
/// should.
namespace twinstep::io {
namespace {

using Value = Node::Value;
using ValuePtr = std::shared_ptr<Value const>;

constexpr std::size_t kDeepest = 128;
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kDigits = "0123456789";
/// What a number or a word consists of, well-formed or not.
constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";

// What may stand at a place.
constexpr std::string_view kAnyValue = "a value";
constexpr std::string_view kKey = "a key in double quotes";
constexpr std::string_view kColon = "\":\" after the key";
constexpr std::string_view kMoreMembers = "\",\" or \"}\" after the member";
constexpr std::string_view kMoreElements = "\",\" or \"]\" after the element";
constexpr std::string_view kNothing = "nothing after the document";

bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

/// Bytes of the UTF-8 character that `text` begins with; 0 where it is malformed.
std::size_t character_length(std::string_view text) {
  if (text.empty()) return 1;
  auto const [number, bytes] = first_character(text);
  return number ? bytes : 0;
}

/// Appends a code point as UTF-8.
void append_character(std::string& out, unsigned code) {
  auto const add = [&out](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

class Parser {
 public:
  Parser(std::shared_ptr<Source const> source, Dialect dialect)
      : source_{std::move(source)}, text_{source_->text}, is_foreign_{dialect == Dialect::kForeign} {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  ValuePtr read_document() {
    if (text_.find_first_not_of(kBlanks) == std::string_view::npos)
      fail(0, "found an empty text, expected a JSON document", "write at least {}");
    // `here` gives one at the end.
    if (auto const zero = text_.find('\0'); zero != std::string_view::npos)
      fail(zero, "found a zero byte, expected text", "save the file as UTF-8 text");
    auto document = has_open_root() ? read_open_object() : read_value();
    skip_blanks();
    if (at_ < text_.size()) refuse_token(kNothing);
    return document;
  }

 private:
  // Values.

  ValuePtr read_value() {
    skip_blanks();
    auto const begin = at_;
    switch (here()) {
      case '{': return read_object();
      case '[': return read_array();
      case '"': return make(begin, read_string());
      default: break;
    }
    if (is_foreign_) return read_foreign_scalar();
    if (begins_number()) return make(begin, read_number());
    if (skip_word("null")) return make(begin, std::monostate{});
    if (skip_word("true")) return make(begin, true);
    if (skip_word("false")) return make(begin, false);
    refuse_token(kAnyValue);
  }

  ValuePtr read_object() {
    auto const begin = enter();
    auto object = Value::Object{};
    for (auto more = !skip('}'); more; more = goes_on('}', kMoreMembers)) object.push_back(read_member());
    refuse_twins(object);
    --depth_;
    return make(begin, std::move(object));
  }

  Value::Member read_member() {
    skip_blanks();
    auto const begin = at_;
    auto key = read_key();
    if (!skip(':')) refuse_token(kColon);
    return {std::move(key), begin, read_value()};
  }

  std::string read_key() {
    if (here() == '"') return read_string();
    if (!is_foreign_) refuse_token(kKey);
    if (here() == '\'') return read_single_quoted();
    auto const begin = at_;
    at_ = std::min(text_.find_first_of(": \t\r\n,[]{}", at_), text_.size());
    if (at_ == begin) refuse_token("a key");
    return std::string{text_.substr(begin, at_ - begin)};
  }

  ValuePtr read_array() {
    auto const begin = enter();
    auto array = Value::Array{};
    for (auto more = !skip(']'); more; more = goes_on(']', kMoreElements)) array.push_back(read_value());
    --depth_;
    return make(begin, std::move(array));
  }

  template <class Content>
  ValuePtr make(std::size_t offset, Content content) {
    auto value = std::make_shared<Value>();
    value->content = std::move(content);
    value->source = source_;
    value->offset = offset;
    return value;
  }

  /// Goes behind an opening bracket, and gives its offset.
  std::size_t enter() {
    if (++depth_ > kDeepest)
      fail(at_, fmt::format("found brackets nested more than {} deep, expected fewer", kDeepest),
           "no file of ours nests so deep");
    return at_++;
  }

  /// Goes behind a comma, or behind the closing bracket.
  bool goes_on(char bracket, std::string_view expected) {
    auto const begin = at_;
    if (skip(',')) return !(is_foreign_ && skip(bracket));
    if (skip(bracket)) return false;
    if (is_foreign_ && text_.substr(begin, at_ - begin).find('\n') != std::string_view::npos && at_ < text_.size())
      return true;
    refuse_token(expected);
  }

  /// O(members × log members), so that a hostile file costs no more than a large one.
  void refuse_twins(Value::Object const& object) const {
    auto order = std::vector<Value::Member const*>{};
    order.reserve(object.size());
    for (auto const& member : object) order.push_back(&member);
    std::ranges::stable_sort(order, {}, &Value::Member::key);
    auto const twin = std::ranges::adjacent_find(order, {}, &Value::Member::key);
    if (twin == order.end()) return;
    fail((*std::next(twin))->key_offset,
         fmt::format("found the key {} a second time, expected it once", twinstep::quoted((*twin)->key)),
         "remove one of the two");
  }

  // What Hjson and Python read beyond JSON.

  /// Whether the braces around the document are left out.
  [[nodiscard]] bool has_open_root() {
    if (!is_foreign_) return false;
    skip_blanks();
    auto const end_of_key = text_.find_first_of(":,[]{}\"'\r\n", at_);
    return end_of_key != std::string_view::npos && text_[end_of_key] == ':' && end_of_key > at_;
  }

  ValuePtr read_open_object() {
    auto const begin = at_;
    auto object = Value::Object{};
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      object.push_back(read_member());
      skip(',');
    }
    refuse_twins(object);
    return make(begin, std::move(object));
  }

  /// A number, a word or a string without quotes, which goes on to the end of its line.
  ValuePtr read_foreign_scalar() {
    auto const begin = at_;
    if (here() == '\'') return make(begin, read_single_quoted());
    if (at_ == text_.size() || is_one_of(here(), "]},:")) refuse_token(kAnyValue);
    auto value = read_foreign_word();
    auto const is_whole = at_ == text_.size() || is_one_of(here(), " \t\r\n,]}#/");
    skip_blanks_of_line();
    if (value && is_whole && (at_ == text_.size() || is_one_of(here(), "\r\n,]}#/"))) return value;
    auto const end = std::min(text_.find_first_of("\r\n", begin), text_.size());
    at_ = end;
    return make(begin, std::string{text_.substr(begin, text_.find_last_not_of(kBlanks, end - 1) + 1 - begin)});
  }

  ValuePtr read_foreign_word() {
    constexpr auto kInfinity = std::numeric_limits<double>::infinity();
    auto const begin = at_;
    if (skip_word("null")) return make(begin, std::monostate{});
    if (skip_word("true")) return make(begin, true);
    if (skip_word("false")) return make(begin, false);
    if (skip_word("NaN")) return make(begin, Value::Number{std::numeric_limits<double>::quiet_NaN(), 0, false});
    if (skip_word("Infinity")) return make(begin, Value::Number{kInfinity, 0, false});
    if (skip_word("-Infinity")) return make(begin, Value::Number{-kInfinity, 0, false});
    auto const after_sign = at_ + (here() == '-' ? 1 : 0);
    if (after_sign < text_.size() && is_one_of(text_[after_sign], kDigits)) return make(begin, read_number());
    return nullptr;
  }

  /// 'one line', or '''several lines'''.
  std::string read_single_quoted() {
    constexpr std::string_view kThree = "'''";
    auto const quote = text_.substr(at_).starts_with(kThree) ? kThree : kThree.substr(0, 1);
    auto const begin = at_ + quote.size();
    auto const end = text_.find(quote, begin);
    if (end == std::string_view::npos)
      fail(at_, "found a string without its end, expected a closing single quote", "add the quote");
    at_ = end + quote.size();
    return std::string{text_.substr(begin, end - begin)};
  }

  /// Blanks and comments: from # or // to the end of the line, and from /* to */.
  void skip_foreign_blanks() {
    while (true) {
      at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
      auto const rest = text_.substr(at_);
      if (rest.starts_with('#') || rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        auto const end = text_.find("*/", at_);
        if (end == std::string_view::npos) fail(at_, "found a comment without its end, expected */", "close it");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  void skip_blanks_of_line() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }

  // Numbers.

  [[nodiscard]] bool begins_number() const { return here() == '-' || is_one_of(here(), kDigits); }

  Value::Number read_number() {
    auto const begin = at_;
    auto const is_whole = skip_number(begin);
    auto const digits = text_.substr(begin, at_ - begin);
    auto const* const end = digits.data() + digits.size();
    auto integer = std::int64_t{0};
    if (is_whole && std::from_chars(digits.data(), end, integer).ec == std::errc{})
      return {static_cast<double>(integer), integer, true};
    auto number = 0.0;
    if (std::from_chars(digits.data(), end, number).ec != std::errc{})  // too large, or too near zero
      number = std::strtod(std::string{digits}.c_str(), nullptr);
    if (!std::isfinite(number))
      fail(begin, fmt::format("found the number {}, expected one that fits in 64 bits", quoted(digits)),
           "write it smaller");
    return {number, 0, false};
  }

  /// Goes behind a number, and says whether it has neither a fraction nor an exponent.
  bool skip_number(std::size_t begin) {
    if (here() == '-') ++at_;
    if (here() == '0')
      ++at_;
    else
      skip_digits(begin);
    auto const end_of_whole = at_;
    if (here() == '.') {
      ++at_;
      skip_digits(begin);
    }
    if (is_one_of(here(), "eE")) {
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      skip_digits(begin);
    }
    return at_ == end_of_whole;
  }

  void skip_digits(std::size_t begin) {
    if (at_ == text_.size() || !is_one_of(here(), kDigits))
      fail(begin, fmt::format("found {}, expected a number", quoted(word_at(begin))), "complete its digits");
    at_ = std::min(text_.find_first_not_of(kDigits, at_), text_.size());
  }

  // Strings.

  std::string read_string() {
    auto out = std::string{};
    ++at_;
    while (at_ < text_.size()) {
      auto const c = here();
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c == '\\')
        read_escape(out);
      else if (static_cast<unsigned char>(c) < 0x20)
        fail(at_, "found a line break or control character in a string, expected visible text",
             "close the quote, or write \\n or \\t");
      else
        read_characters(out);
    }
    fail(text_.size() - 1, "found a string without its end, expected a closing double quote", "add the quote");
  }

  /// What stands for itself, one character at least.
  void read_characters(std::string& out) {
    auto const begin = at_;
    while (at_ < text_.size() && here() != '"' && here() != '\\' && static_cast<unsigned char>(here()) >= 0x20) {
      auto const length = character_length(text_.substr(at_));
      if (length == 0) refuse_bytes();
      at_ += length;
    }
    out += text_.substr(begin, at_ - begin);
  }

  void read_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (here() == 'u') return append_character(out, read_code_point());
    auto const letter = kLetters.find(here());
    if (at_ == text_.size() || letter == std::string_view::npos) refuse_escape();
    out += kMeanings[letter];
    ++at_;
  }

  /// Of \u and four digits, or of two of them where the first is half of a surrogate pair.
  unsigned read_code_point() {
    auto const first = read_code_unit();
    auto const is_between = [](unsigned unit, unsigned least, unsigned most) { return unit >= least && unit <= most; };
    if (!is_between(first, 0xd800, 0xdfff)) return first;
    if (first >= 0xdc00 || !text_.substr(at_).starts_with("\\u")) refuse_escape();
    ++at_;
    auto const second = read_code_unit();
    if (!is_between(second, 0xdc00, 0xdfff)) refuse_escape();
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  unsigned read_code_unit() {
    constexpr std::size_t kLength = 4;
    auto const digits = text_.substr(at_ + 1, kLength);
    auto unit = 0U;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (error != std::errc{} || end != digits.data() + kLength) refuse_escape();
    at_ += 1 + kLength;
    return unit;
  }

  [[noreturn]] void refuse_escape() const {
    fail(std::min(at_, text_.size() - 1),
         "found a malformed escape in a string, expected \\n, \\t, \\\", \\\\ or \\u and 4 digits",
         "write a backslash as \\\\");
  }

  [[noreturn]] void refuse_bytes() const {
    fail(at_, "found bytes that are not UTF-8, expected UTF-8 text", "save the file as UTF-8");
  }

  // Tokens.

  /// The character at this place; a zero at the end, which no text has inside.
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    if (is_foreign_) return skip_foreign_blanks();
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
  }

  /// Goes behind blanks, and behind `mark` where it follows them.
  bool skip(char mark) {
    skip_blanks();
    if (here() != mark) return false;
    ++at_;
    return true;
  }

  bool skip_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  [[nodiscard]] std::size_t begin_of_word() const {
    return text_.find_last_not_of(kWord, at_) + 1;  // 0 where there is none
  }

  /// The word at `begin`, or else the one character there.
  [[nodiscard]] std::string_view word_at(std::size_t begin) const {
    auto const end = std::min(text_.find_first_not_of(kWord, begin), text_.size());
    auto const rest = text_.substr(begin);
    return rest.substr(0, std::max({end - begin, character_length(rest), std::size_t{1}}));
  }

  /// Says what stands here, a token that cannot or what is none at all, and what was `expected`.
  [[noreturn]] void refuse_token(std::string_view expected) {
    auto const begin = at_;
    auto const first = here();
    if (begin == text_.size())
      fail(begin, fmt::format("found the end of the text, expected {}", expected),
           "the text is cut short, or a bracket is not closed");
    if (first == '"') {
      static_cast<void>(read_string());
    } else if (begins_number()) {
      static_cast<void>(read_number());
    } else if (is_one_of(first, "{}[]:,")) {
      ++at_;
    } else if (!skip_word("null") && !skip_word("true") && !skip_word("false")) {
      if (character_length(text_.substr(begin)) == 0) refuse_bytes();
      auto const word = is_one_of(first, kWord) ? begin_of_word() : begin;  // "450" of "450GB" was read already
      fail(word, fmt::format("found {}, expected {}", quoted(word_at(word)), expected),
           "JSON has no comments, NaN or Infinity, and quotes are double");
    }
    fail(begin, fmt::format("found {}, expected {}", quoted(text_.substr(begin, at_ - begin)), expected),
         expected == kNothing           ? "remove it, and keep one document in a file"
         : first == '}' || first == ']' ? "remove the comma before it, or complete the list"
                                        : "add what is missing before it");
  }

  [[noreturn]] void fail(std::size_t offset, std::string_view found, std::string_view way_out) const {
    throw InputError{fmt::format("{}{}; {}", place_of(*source_, offset), found, way_out)};
  }

  std::shared_ptr<Source const> source_;
  std::string_view text_;
  bool is_foreign_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Node parse(Source source, Dialect dialect) {
  return Node{Parser{std::make_shared<Source const>(std::move(source)), dialect}.read_document()};
}

}  // namespace twinstep::io
