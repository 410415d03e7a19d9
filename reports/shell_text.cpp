#include "reports/shell_text.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

namespace twinstep::reports {
namespace {

bool is_control(char c) {
  return std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view{"_-./=:,+@%"}.find(c) != std::string_view::npos;
}

std::string with_escapes(std::string_view word) {
  auto text = std::string{"$'"};
  for (auto const c : word) {
    if (is_control(c))
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      text += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string{c};
  }
  return text + "'";
}

}  // namespace

std::string quoted_in_shell(std::string_view word) {
  if (std::ranges::any_of(word, is_control)) return with_escapes(word);
  auto text = std::string{"'"};
  // A single quote ends the quotes, stands for itself, and begins them again.
  for (auto const c : word) text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

std::string shell_word(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, is_plain) ? std::string{word} : quoted_in_shell(word);
}

std::string option_in_shell(io::Change const& change) {
  return "--set " + quoted_in_shell(io::text_of(change));
}

}  // namespace twinstep::reports
