#include "validate/records/log_words.hpp"

#include <algorithm>
#include <cctype>

namespace twinstep::records {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::string_view kJsonBlanks = " \t\r\n";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t end_of_digits(std::string_view text, std::size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

/// Without all up to "<stdout>:", where that begins the line or stands behind a bracket or a time.
std::string_view without_tag(std::string_view line) {
  constexpr std::size_t kLongest = 120;
  for (auto const* const tag : {"<stdout>:", "<stderr>:"})
    if (auto const at = line.substr(0, kLongest).find(tag); at != std::string_view::npos)
      return line.substr(at + std::string_view{tag}.size());
  return line;
}

/// Without "0: " or "[0] ".
std::string_view without_label(std::string_view line) {
  auto const begin = std::min(line.find_first_not_of(kBlanks), line.size());
  auto const is_bracketed = line.substr(begin).starts_with('[');
  auto const first = begin + (is_bracketed ? 1 : 0);
  auto const digits = end_of_digits(line, first);
  auto const is_label = digits > first && line.substr(digits).starts_with(is_bracketed ? "] " : ": ");
  return is_label ? line.substr(digits + 1) : line;
}

/// The length of "[32m", which is left of a colour where a page ate its escape; 0 for anything else.
std::size_t bare_colour(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  auto const end = text.find_first_not_of("0123456789;", 1);
  return end != std::string_view::npos && end > 1 && text[end] == 'm' ? end + 1 : 0;
}

/// Without ESC [ … letter, and without ESC ] … BEL.
std::string without_control_sequences(std::string_view text) {
  constexpr char kEscape = '\x1b';
  auto plain = std::string{};
  while (true) {
    auto const begin = std::min(text.find_first_of("\x1b["), text.size());
    plain += text.substr(0, begin);
    text.remove_prefix(begin);
    if (text.empty()) return plain;
    if (text.front() != kEscape) {
      auto const colour = bare_colour(text);
      if (colour == 0) plain += text.front();
      text.remove_prefix(std::max<std::size_t>(colour, 1));
      continue;
    }
    auto const is_title = text.substr(1).starts_with(']');
    auto end = is_title ? text.find('\a') : text.find_first_not_of("0123456789;:<=>?[ !\"#$%&'()*+,-./", 1);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

/// Whether `text` has the form of `pattern`, in which 0 stands for a digit.
bool has_form(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] == '0' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
  return true;
}

/// Without a date and a time that begin the line.
std::string_view without_time(std::string_view line) {
  if (!has_form(line, "0000-00-00T00:00:00") && !has_form(line, "0000-00-00 00:00:00")) return line;
  constexpr auto kSecond = std::string_view{"0000-00-00T00:00:00"}.size();
  return line.substr(std::min(line.find_first_of(kBlanks, kSecond), line.size()));
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  auto words = std::vector<std::string_view>{};
  for (auto begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    auto const end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  auto lines = std::vector<std::string_view>{};
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string plain_text(std::string_view text) {
  auto plain = std::string{};
  // Without a mark, the zero of a first character that is ASCII tells.
  auto const is_marked = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  auto const is_little = text.starts_with("\xff\xfe") || (text.size() > 1 && text[0] != '\0' && text[1] == '\0');
  if (is_marked || is_little || text.starts_with('\0')) {
    for (std::size_t i = is_marked ? 2 : 0; i + 1 < text.size(); i += 2) {
      auto const low = text[is_little ? i : i + 1];
      auto const is_ascii = text[is_little ? i + 1 : i] == '\0' && static_cast<unsigned char>(low) < 0x80;
      plain += is_ascii ? low : '?';
    }
  } else {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    plain = text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  }
  return without_control_sequences(plain);
}

void LinePrefix::learn(std::string_view line) {
  constexpr std::string_view kMarks[] = {"# nThread", "# Using devices", "# Collective test", "#  Rank", "#   Rank"};
  auto const mark = line.find('#');
  if (mark == std::string_view::npos) return;
  auto const rest = line.substr(mark);
  auto const is_known = std::ranges::any_of(kMarks, [rest](auto known) { return rest.starts_with(known); });
  if (!is_known && rest.find("algbw") == std::string_view::npos) return;
  form_.clear();
  for (std::size_t i = 0; i < mark;) {
    auto const end = end_of_digits(line, i);
    form_ += end > i ? '0' : line[i];
    i = std::max(end, i + 1);
  }
}

std::string_view LinePrefix::strip(std::string_view line) const {
  auto at = std::size_t{0};
  for (auto const c : form_) {
    auto const end = end_of_digits(line, at);
    if (c == '0' ? end == at : at >= line.size() || line[at] != c) return line;
    at = c == '0' ? end : at + 1;
  }
  return line.substr(at);
}

bool begins_object(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kJsonBlanks), text.size())).starts_with('{');
}

bool begins_array(std::string_view text) {
  auto const begin = std::min(text.find_first_not_of(kJsonBlanks), text.size());
  if (!text.substr(begin).starts_with('[')) return false;
  auto const first = text.find_first_not_of(kJsonBlanks, begin + 1);
  return first == std::string_view::npos || text[first] == '{' || text[first] == ']';
}

std::string_view without_launcher_prefix(std::string_view line) {
  constexpr int kMostPrefixes = 3;  // a collector's time, a launcher's label, the launcher's time
  for (auto i = 0; i < kMostPrefixes; ++i) {
    auto const rest = without_time(without_label(without_tag(line)));
    if (rest.size() == line.size()) break;
    line = rest;
  }
  return line;
}

std::optional<LibraryMessage> find_library_message(std::string_view line) {
  constexpr std::string_view kLevels[] = {" NCCL INFO ", " NCCL WARN ", " NCCL TRACE "};
  for (auto const level : kLevels) {
    auto const at = line.find(level);
    if (at == std::string_view::npos) continue;
    auto message = LibraryMessage{.text = line.substr(at + level.size())};
    for (auto const word : words_of(line.substr(0, at))) {
      auto const is_host = word.find(':') != std::string_view::npos;
      if (!is_host && !word.starts_with('[')) {
        message.before.push_back(word);
        continue;
      }
      // "-1node0:43:43": the last number of the row, and the host right behind it.
      auto const digits = end_of_digits(word, word.starts_with('-') ? 1 : 0);
      if (is_host && !message.before.empty() && digits > 0) message.before.push_back(word.substr(0, digits));
      break;
    }
    return message;
  }
  return std::nullopt;
}

std::string plain_letters(std::string_view text) {
  auto plain = std::string{};
  for (auto const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
  }
  return plain;
}

}  // namespace twinstep::records
