#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

/// UTF-8, as far as texts are measured and cut.
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

}  // namespace twinstep
