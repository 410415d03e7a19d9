#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Small changes to texts, and what they hold.
namespace twinstep::tests {

/// `text` with its first `from` replaced; `from` must be there.
inline std::string changed(std::string text, std::string_view from, std::string_view to) {
  auto const at = text.find(from);
  if (at == std::string::npos) throw std::logic_error{"nothing to replace: " + std::string{from}};
  return text.replace(at, from.size(), to);
}

/// Whether one of the lines has this part.
inline bool any_contains(std::vector<std::string> const& lines, std::string_view part) {
  return std::ranges::any_of(lines, [&](std::string const& line) { return line.find(part) != std::string::npos; });
}

}  // namespace twinstep::tests
