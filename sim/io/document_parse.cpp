#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/io/document.hpp"
#include "sim/io/document_value.hpp"

/// Parsing. The JSON library is asked only for events, so nesting costs no stack and values can remember their places.
namespace twinstep::io {
namespace {

using Value = Node::Value;

constexpr std::size_t kDeepest = 128;

/// Walks over the text and leaves in `*position` how far the parser has read.
class CountingIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = char const*;
  using reference = char const&;
  using iterator_category = std::forward_iterator_tag;

  CountingIterator(char const* at, std::size_t* position) : at_{at}, position_{position} {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*position_;
    return *this;
  }
  bool operator==(CountingIterator const& other) const { return at_ == other.at_; }

 private:
  char const* at_;
  std::size_t* position_;
};

/// A syntax error in our words.
struct Complaint {
  std::size_t offset = 0;
  std::string found;
  std::string way_out;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// What the parser waited for, from the end of its own message.
std::string_view expected_of(std::string_view message) {
  auto const at = message.rfind("; expected ");
  auto const what = at == std::string_view::npos ? std::string_view{} : message.substr(at + 11);
  if (what == "string literal") return "a key in double quotes";
  if (what == "':'") return "\":\" after the key";
  if (what == "'}'") return "\",\" or \"}\" after the member";
  if (what == "']'") return "\",\" or \"]\" after the element";
  if (what == "end of input") return "nothing after the document";
  return "a value";
}

struct Token {
  std::size_t start = 0;
  std::string_view text;
};

/// The token that the parser stumbled over: `read` is what it says it read, up to `position`. A string, a whole number
/// or word (which the parser may have left half-way), or one character.
Token last_token(std::string_view text, std::size_t position, std::string_view read) {
  if (read.empty() || (read.ends_with('"') && read.starts_with('"')))
    return {position - std::min(position, read.size()), read};
  constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  auto const before = read.find_last_not_of(kWord);
  auto const length =
      before == std::string_view::npos ? read.size() : std::max(read.size() - before - 1, std::size_t{1});
  auto const start = position - std::min(position, length);
  auto const is_word = start < text.size() && kWord.find(text[start]) != std::string_view::npos;
  auto const end = is_word ? std::min(text.find_first_not_of(kWord, start), text.size()) : position;
  return {start, text.substr(start, end - start)};
}

/// The parser's complaint about a token that is no JSON at all (`message`), or nothing if the token is only misplaced.
std::optional<Complaint> bad_token(std::size_t position, Token const& token, std::string_view message) {
  auto const last = position == 0 ? 0 : position - 1;
  if (contains(message, "number overflow"))
    return Complaint{
        token.start,
        fmt::format("found the number {}, expected one that fits in 64 bits", twinstep::quoted(token.text)),
        "write it smaller"};
  if (contains(message, "UTF-8"))
    return Complaint{last, "found bytes that are not UTF-8, expected UTF-8 text", "save the file as UTF-8"};
  if (contains(message, "missing closing quote"))
    return Complaint{last, "found a string without its end, expected a closing double quote", "add the quote"};
  if (contains(message, "control character"))
    return Complaint{last, "found a line break or control character in a string, expected visible text",
                     "close the quote, or write \\n or \\t"};
  if (contains(message, "invalid string"))
    return Complaint{last, "found a malformed escape in a string, expected \\n, \\t, \\\", \\\\ or \\u and 4 digits",
                     "write a backslash as \\\\"};
  if (contains(message, "invalid number"))
    return Complaint{token.start, fmt::format("found {}, expected a number", quoted(token.text)),
                     "complete its digits"};
  if (contains(message, "invalid literal") || contains(message, "invalid comment") || contains(message, "invalid BOM"))
    return Complaint{token.start, fmt::format("found {}, expected {}", quoted(token.text), expected_of(message)),
                     "JSON has no comments, NaN or Infinity, and quotes are double"};
  return std::nullopt;
}

Complaint complain(Source const& source, std::size_t position, std::string_view read, std::string_view message) {
  if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
    return {0, "found an empty text, expected a JSON document", "write at least {}"};
  auto const token = last_token(source.text, position, read);
  if (auto complaint = bad_token(position, token, message)) return *std::move(complaint);
  auto const expected = expected_of(message);
  if (contains(message, "unexpected end of input"))
    return {source.text.size(), fmt::format("found the end of the text, expected {}", expected),
            "the text is cut short, or a bracket is not closed"};
  auto const way_out = contains(expected, "nothing") ? "remove it, and keep one document in a file"
                       : contains(message, "unexpected '}'") || contains(message, "unexpected ']'")
                           ? "remove the comma before it, or complete the list"
                           : "add what is missing before it";
  return {token.start, fmt::format("found {}, expected {}", quoted(token.text), expected), way_out};
}

/// Turns the parser's events into a tree.
class TreeBuilder {
 public:
  using string_t = std::string;

  explicit TreeBuilder(std::shared_ptr<Source const> source) : source_{std::move(source)} {
    if (source_->text.starts_with("\xef\xbb\xbf")) end_of_last_token_ = 3;
  }

  [[nodiscard]] std::size_t* position() { return &position_; }
  [[nodiscard]] std::shared_ptr<Value const> root() const { return root_; }
  [[nodiscard]] std::optional<Complaint> const& complaint() const { return complaint_; }

  // The events, by the names that the parser calls. False stops it.
  bool null() { return add(std::monostate{}); }
  bool boolean(bool fact) { return add(fact); }
  bool number_integer(std::int64_t number) { return add(Value::Number{static_cast<double>(number), number, true}); }
  bool number_unsigned(std::uint64_t number) {
    auto const fits = number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return add(Value::Number{static_cast<double>(number), fits ? static_cast<std::int64_t>(number) : 0, fits});
  }
  bool number_float(double number, std::string const&) { return add(Value::Number{number, 0, false}); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return add(Value::Object{}) && descend(); }
  bool start_array(std::size_t) { return add(Value::Array{}) && descend(); }
  bool key(std::string& text) {
    key_offset_ = start_of_token();
    key_ = std::move(text);
    end_of_last_token_ = position_;
    return true;
  }
  bool end_object() { return has_distinct_keys() && ascend(); }
  bool end_array() { return ascend(); }

  template <class Exception>
  bool parse_error(std::size_t position, std::string const& token, Exception const& error) {
    complaint_ = complain(*source_, position, token, error.what());
    return false;
  }

 private:
  /// Between the last token and this one stand only white space and separators.
  [[nodiscard]] std::size_t start_of_token() const {
    auto const start = source_->text.find_first_not_of(" \t\r\n,:", end_of_last_token_);
    return std::min(start, source_->text.size());
  }

  template <class Content>
  bool add(Content content) {
    auto value = std::make_shared<Value>();
    value->content = std::move(content);
    value->source = source_;
    value->offset = start_of_token();
    end_of_last_token_ = position_;
    last_ = value;
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* object = std::get_if<Value::Object>(&open_.back()->content)) {
      object->push_back({std::move(key_), key_offset_, std::move(value)});
    } else {
      std::get<Value::Array>(open_.back()->content).push_back(std::move(value));
    }
    return true;
  }

  bool descend() {
    open_.push_back(last_);
    if (open_.size() <= kDeepest) return true;
    complaint_ =
        Complaint{last_->offset, fmt::format("found brackets nested more than {} deep, expected fewer", kDeepest),
                  "no file of ours nests so deep"};
    return false;
  }

  bool ascend() {
    open_.pop_back();
    end_of_last_token_ = position_;
    return true;
  }

  /// O(members × log members), so that a hostile file costs no more than a large one.
  bool has_distinct_keys() {
    auto const& object = std::get<Value::Object>(open_.back()->content);
    auto order = std::vector<Value::Member const*>{};
    order.reserve(object.size());
    for (auto const& member : object) order.push_back(&member);
    std::ranges::stable_sort(order, {}, &Value::Member::key);
    auto const twin = std::ranges::adjacent_find(order, {}, &Value::Member::key);
    if (twin == order.end()) return true;
    complaint_ =
        Complaint{(*std::next(twin))->key_offset,
                  fmt::format("found the key {} a second time, expected it once", twinstep::quoted((*twin)->key)),
                  "remove one of the two"};
    return false;
  }

  std::shared_ptr<Source const> source_;
  std::size_t position_ = 0;
  std::size_t end_of_last_token_ = 0;
  std::string key_;
  std::size_t key_offset_ = 0;
  std::vector<std::shared_ptr<Value>> open_;  ///< the containers around the present place, outermost first
  std::shared_ptr<Value> last_;
  std::shared_ptr<Value const> root_;
  std::optional<Complaint> complaint_;
};

[[noreturn]] void fail_file(std::string const& path, std::string_view found, std::string_view way_out) {
  throw InputError{
      fmt::format("{}: found {}, expected a JSON file; {}", path.empty() ? "\"\"" : one_line(path), found, way_out)};
}

/// The whole text. Throws InputError beyond a size that no file of ours has: /dev/zero never ends.
std::string read_all(std::istream& file, std::string const& path) {
  constexpr auto kLargest = std::size_t{1} << 30;
  constexpr auto kBlock = std::size_t{1} << 20;
  auto text = std::string{};
  while (file) {
    auto const size = text.size();
    if (size > kLargest) fail_file(path, "more than 1 GiB of text", "check the path");
    text.resize(size + kBlock);
    file.read(text.data() + size, static_cast<std::streamsize>(kBlock));
    text.resize(size + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) fail_file(path, "an unreadable file", "check the disk");
  return text;
}

}  // namespace

Node parse(Source source) {
  auto const shared = std::make_shared<Source const>(std::move(source));
  // The parser takes a zero byte for the end and would not look behind it.
  if (auto const zero = shared->text.find('\0'); zero != std::string::npos)
    throw InputError{
        fmt::format("{}found a zero byte, expected text; save the file as UTF-8 text", place_of(*shared, zero))};
  auto builder = TreeBuilder{shared};
  auto const* const text = shared->text.data();
  auto const first = CountingIterator{text, builder.position()};
  auto const last = CountingIterator{text + shared->text.size(), builder.position()};
  auto const is_read = nlohmann::json::sax_parse(first, last, &builder);
  if (auto const& complaint = builder.complaint())
    throw InputError{
        fmt::format("{}{}; {}", place_of(*shared, complaint->offset), complaint->found, complaint->way_out)};
  TWINSTEP_CHECK(is_read && builder.root() != nullptr, "a document without a complaint is whole");
  return Node{builder.root()};
}

std::string read_text(std::string const& path) {
  auto error = std::error_code{};
  if (std::filesystem::is_directory(path, error)) fail_file(path, "a directory", "name a file in it");
  errno = 0;
  auto file = std::ifstream{path, std::ios::binary};
  if (!file) fail_file(path, errno == ENOENT ? "no such file" : std::strerror(errno), "check the path");
  return read_all(file, path);
}

Node parse_file(std::string const& path) {
  return parse({path, read_text(path)});
}

Node string_node(std::string text, std::string source_name) {
  auto value = std::make_shared<Value>();
  value->source = std::make_shared<Source const>(Source{std::move(source_name), text, false});
  value->content = std::move(text);
  return Node{std::move(value)};
}

}  // namespace twinstep::io
