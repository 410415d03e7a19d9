#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include <fmt/core.h>

#include "sim/io/foreign_tree.hpp"
#include "sim/io/other_formats.hpp"

namespace twinstep::io {
namespace {

using Value = Node::Value;
using ValuePtr = ForeignTree::ValuePtr;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
/// Ends a command of a shell, or a list in one.
bool ends_command(char c) {
  return std::string_view{"\n();|&<>"}.find(c) != std::string_view::npos;
}

/// "--num-layers", but no line of dashes.
bool starts_flag(std::string_view text) {
  return text.size() > 2 && text.starts_with("--") && is_name(text[2]);
}

constexpr std::size_t kLongestValue = 1024;

struct Word {
  std::size_t offset = 0;
  std::string text;
  bool ends = false;  ///< nothing more belongs to the flag before
};

/// Cuts a shell's text into words. Quotes around flags are blanks, for they hold words of a command line to be; those
/// around anything else hold one word.
class Words {
 public:
  explicit Words(std::string_view text) : text_{text} {}

  std::optional<Word> next() {
    while (at_ < text_.size()) {
      auto const c = text_[at_];
      if (is_line_break_escaped())
        at_ = text_.find('\n', at_) + 1;
      else if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == quote_ && quote_ != 0)
        return quote_ = 0, ending();
      else if (opens_flags())
        quote_ = c, ++at_;
      else if (is_blank(c) || (c == '\n' && quote_ != 0))
        ++at_;
      else if (ends_command(c))
        return ending();
      else
        return word();
    }
    return std::nullopt;
  }

 private:
  Word ending() { return {at_++, {}, true}; }

  [[nodiscard]] bool is_line_break_escaped() const {
    if (text_[at_] != '\\') return false;
    auto const next = text_.find_first_not_of(" \t\r", at_ + 1);
    return next != std::string_view::npos && text_[next] == '\n';
  }

  /// A quote that flags follow, maybe on the next line.
  [[nodiscard]] bool opens_flags() const {
    if (quote_ != 0 || (text_[at_] != '"' && text_[at_] != '\'')) return false;
    auto const first = text_.find_first_not_of(" \t\r\n\\", at_ + 1);
    return first != std::string_view::npos && starts_flag(text_.substr(first, 3));
  }

  Word word() {
    auto word = Word{at_, {}, false};
    while (at_ < text_.size()) {
      auto const c = text_[at_];
      if (is_blank(c) || ends_command(c) || c == quote_ || opens_flags()) break;
      if (c == '"' || c == '\'')
        quoted(c, word.text);
      else if (c == '$')
        variable(word.text);
      else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n')
        word.text += text_[++at_], ++at_;
      else if (c == '\\')
        break;
      else
        word.text += c, ++at_;
    }
    if (at_ == word.offset) ++at_;
    return word;
  }

  void quoted(char quote, std::string& to) {
    auto const end = std::min(text_.find(quote, at_ + 1), text_.size());
    to += text_.substr(at_ + 1, end - at_ - 1);
    at_ = std::min(end + 1, text_.size());
  }

  /// "$(…)" and "${…}" whole.
  void variable(std::string& to) {
    auto const start = at_++;
    auto const open = at_ < text_.size() ? text_[at_] : ' ';
    auto const close = open == '(' ? ')' : '}';
    if (open == '(' || open == '{') {
      auto depth = 0;
      for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
        if (text_[at_] == open) ++depth;
        if (text_[at_] == close && --depth == 0) {
          ++at_;
          break;
        }
      }
    }
    to += text_.substr(start, at_ - start);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char quote_ = 0;
};

/// Variables that a text gives values to.
class Variables {
 public:
  /// Takes "NAME=value"; false for any other word.
  bool take(std::string_view word) {
    auto const end = static_cast<std::size_t>(std::ranges::find_if_not(word, is_name) - word.begin());
    auto const is_first = end > 0 && std::isdigit(static_cast<unsigned char>(word.front())) == 0;
    auto rest = word.substr(end);
    if (is_first && rest.starts_with("+=")) rest.remove_prefix(1);
    if (!is_first || !rest.starts_with('=')) return false;
    auto const name = std::string{word.substr(0, end)};
    rest.remove_prefix(1);
    if (rest.empty())
      lists_.insert(name);  // "NAME=(" or "NAME=\"--flags": their words are read where they stand
    else
      values_[name] = resolved(rest);
    return true;
  }

  /// With values in place of variables, where they are known.
  [[nodiscard]] std::string resolved(std::string_view text) const {
    auto result = std::string{};
    while (!text.empty()) {
      auto const at = std::min(text.find('$'), text.size());
      result += text.substr(0, at);
      text.remove_prefix(at);
      if (text.empty()) break;
      auto const size = size_of_reference(text);
      result += value_of(text.substr(0, size));
      text.remove_prefix(size);
      if (result.size() > kLongestValue) break;  // values of values double
    }
    return result;
  }

  /// Whether the word stands for words that were written elsewhere.
  [[nodiscard]] bool is_list(std::string_view word) const {
    if (word.find("[@]") != std::string_view::npos || word.find("[*]") != std::string_view::npos) return true;
    return word.starts_with('$') && lists_.contains(std::string{name_in(word)});
  }

 private:
  static std::string_view name_in(std::string_view reference) {
    reference.remove_prefix(reference.starts_with("${") ? 2 : 1);
    return reference.substr(0,
                            static_cast<std::size_t>(std::ranges::find_if_not(reference, is_name) - reference.begin()));
  }

  static std::size_t size_of_reference(std::string_view text) {
    if (text.starts_with("${")) return std::min(text.find('}'), text.size() - 1) + 1;
    return 1 + name_in(text).size();
  }

  /// A value, the default of "${NAME:-default}", or the reference itself.
  [[nodiscard]] std::string value_of(std::string_view reference) const {
    auto const found = values_.find(std::string{name_in(reference)});
    if (found != values_.end()) return found->second;
    auto const otherwise = reference.find(":-");
    if (!reference.starts_with("${") || otherwise == std::string_view::npos) return std::string{reference};
    auto value = reference.substr(otherwise + 2);
    if (value.ends_with('}')) value.remove_suffix(1);
    if (value.starts_with('"')) value.remove_prefix(1);
    if (value.ends_with('"')) value.remove_suffix(1);
    return std::string{value};
  }

  std::map<std::string, std::string> values_;
  std::set<std::string> lists_;
};

/// Reads the flags of a text with what follows them.
class ArgumentReader {
 public:
  ArgumentReader(ForeignTree& tree, std::vector<std::string>& warnings) : tree_{tree}, warnings_{warnings} {}

  ValuePtr read() {
    auto words = Words{tree_.text()};
    while (auto const word = words.next()) {
      if (word->ends || word->text.ends_with(".py"))
        close();
      else if (starts_flag(word->text))
        open(*word);
      else if (!variables_.take(word->text) && !flag_.empty() && !variables_.is_list(word->text))
        values_.push_back(value_of(word->offset, variables_.resolved(word->text)));
    }
    close();
    return tree_.make(0, std::move(flags_));
  }

 private:
  /// "--flag" or "--flag=value".
  void open(Word const& word) {
    close();
    auto const is_of_flag = [](char c) { return is_name(c) || c == '-' || c == '.'; };
    auto const equals = static_cast<std::size_t>(std::ranges::find_if_not(word.text, is_of_flag) - word.text.begin());
    flag_ = word.text.substr(2, equals - 2);
    std::ranges::replace(flag_, '_', '-');
    offset_ = word.offset;
    if (equals == word.text.size() || word.text[equals] != '=') return;
    values_.push_back(value_of(word.offset + equals + 1, variables_.resolved(word.text.substr(equals + 1))));
    close();
  }

  void close() {
    if (!flag_.empty()) add(std::move(flag_), taken_value());
    flag_.clear();
    values_.clear();
  }

  ValuePtr taken_value() {
    if (values_.empty()) return tree_.make(offset_, true);
    if (values_.size() == 1) return values_.front();
    auto const offset = values_.front()->offset;
    return tree_.make(offset, Value::Array{values_.begin(), values_.end()});
  }

  void add(std::string flag, ValuePtr value) {
    auto const [known, is_new] = places_.try_emplace(flag, flags_.size());
    if (is_new) return flags_.push_back({std::move(flag), offset_, std::move(value)});
    auto& member = flags_[known->second];
    if (describe(*member.value) != describe(*value))
      warnings_.push_back(fmt::format("{}--{} is given a second time: {} is taken, not {}",
                                      place_of(*value->source, value->offset), flag, describe(*value),
                                      describe(*member.value)));
    member.value = std::move(value);
  }

  ValuePtr value_of(std::size_t offset, std::string text) {
    auto const* const end = text.data() + text.size();
    auto integer = std::int64_t{0};
    if (auto const [rest, error] = std::from_chars(text.data(), end, integer); error == std::errc{} && rest == end)
      return tree_.make_number(offset, integer);
    auto number = 0.0;
    auto const is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    if (auto const [rest, error] = std::from_chars(text.data(), end, number);
        error == std::errc{} && rest == end && std::ranges::any_of(text, is_digit))
      return tree_.make_number(offset, number);
    return tree_.make(offset, std::move(text));
  }

  ForeignTree& tree_;
  std::vector<std::string>& warnings_;
  Variables variables_;
  std::string flag_;  ///< that values are collected for
  std::size_t offset_ = 0;
  std::vector<ValuePtr> values_;
  Value::Object flags_;
  std::map<std::string, std::size_t> places_;  ///< in `flags_`
};

}  // namespace

Node parse_arguments(Source source, std::vector<std::string>& warnings) {
  auto tree = ForeignTree{std::move(source), "command line"};
  return Node{ArgumentReader{tree, warnings}.read()};
}

}  // namespace twinstep::io
