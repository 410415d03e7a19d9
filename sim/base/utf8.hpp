#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

/// UTF-8, as far as texts are measured, cut and shown.
namespace twinstep {

/// Whether a byte begins a character: bytes 10xxxxxx go on with one.
[[nodiscard]] constexpr bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
}

[[nodiscard]] constexpr std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

/// The longest beginning of a text that has at most `most` bytes and cuts no character.
[[nodiscard]] constexpr std::string_view whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && !begins_character(text[most])) --most;
  return text.substr(0, most);
}

/// Where the character with a number from 0 begins; the end of the text where it has fewer.
[[nodiscard]] constexpr std::size_t character_begin(std::string_view text, std::size_t number) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (begins_character(text[i]) && number-- == 0) return i;
  return text.size();
}

/// The character that a text begins with: its number, and its bytes; of what is no UTF-8 one byte without a number.
struct Character {
  std::optional<char32_t> number;
  std::size_t bytes = 1;
};
/// Source: Unicode 15, table 3-7, "Well-Formed UTF-8 Byte Sequences". Requires a text.
[[nodiscard]] constexpr Character first_character(std::string_view text) {
  auto const at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const lead = at(0);
  if (lead < 0x80) return {lead, 1};
  auto const bytes = std::size_t{lead < 0xe0 ? 2U : lead < 0xf0 ? 3U : 4U};
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  auto number = static_cast<char32_t>(lead & (0x7fU >> bytes));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (begins_character(text[i])) return {};
    number = number << 6U | (at(i) & 0x3fU);
  }
  auto const is_short = (bytes == 3 && number < 0x800) || (bytes == 4 && number < 0x10000);
  if (is_short || number > 0x10ffff || (number >= 0xd800 && number < 0xe000)) return {};
  return {number, bytes};
}

/// Whether a terminal or a page would obey a character instead of showing it: controls, and what turns the direction of
/// writing or breaks lines.
[[nodiscard]] constexpr bool is_control(char32_t number) {
  return number < 0x20 || (number >= 0x7f && number < 0xa0) || number == 0x061c ||
         (number >= 0x200b && number <= 0x200f) || (number >= 0x2028 && number <= 0x202e) ||
         (number >= 0x2060 && number <= 0x206f) || number == 0xfeff || (number >= 0xfff9 && number <= 0xfffb);
}

}  // namespace twinstep
