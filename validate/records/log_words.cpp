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

bool begins_object(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kJsonBlanks), text.size())).starts_with('{');
}

bool begins_array(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kJsonBlanks), text.size())).starts_with('[');
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
