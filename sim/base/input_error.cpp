#include "sim/base/input_error.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "sim/base/units.hpp"
#include "sim/base/utf8.hpp"

namespace twinstep {
namespace {

constexpr std::size_t kOtherLetter = 100;  ///< in edit_distance
constexpr std::size_t kOtherCase = 1;

/// Levenshtein distance in which case hardly counts: it decides between "KB/s" and "Kb/s".
std::size_t edit_distance(std::string_view a, std::string_view b) {
  auto const lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  auto row = std::vector<std::size_t>(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j * kOtherLetter;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i * kOtherLetter;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const is_other = lower(a[i - 1]) != lower(b[j - 1]);
      auto const replaced = diagonal + (is_other ? kOtherLetter : a[i - 1] != b[j - 1] ? kOtherCase : 0);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + kOtherLetter, row[j - 1] + kOtherLetter});
    }
  }
  return row.back();
}

}  // namespace

template <>
void fail_beyond_range<BytesTag>() {
  throw BeyondRange{
      "found more bytes than 63 bits count, expected at most 9.2 EB; use a smaller model or batch, a smaller size, or "
      "fewer ranks"};
}

template <>
void fail_beyond_range<DurationTag>() {
  throw BeyondRange{
      "found a time beyond the simulated clock, expected less than 106 days; use a smaller model or batch, a smaller "
      "size, or a machine with higher rates and shorter latencies"};
}

std::string_view nearest_name(std::string_view name, std::vector<std::string_view> const& known) {
  constexpr std::size_t kLongestName = 64;
  if (name.size() > kLongestName) return {};
  auto best = std::string_view{};
  auto best_distance = (name.size() / 3 + 1) * kOtherLetter;
  for (auto const candidate : known) {
    if (auto const distance = edit_distance(name, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || name.empty()) return best;
  auto const longer =
      std::ranges::find_if(known, [&](std::string_view candidate) { return candidate.starts_with(name); });
  return longer != known.end() ? *longer : best;
}

std::string suggest_name(std::string_view name, std::vector<std::string_view> const& known) {
  if (auto const near = nearest_name(name, known); !near.empty() && !name.empty())
    return fmt::format("did you mean \"{}\"?", near);
  constexpr std::size_t kShown = 12;
  auto text = std::string{"known:"};
  for (std::size_t i = 0; i < known.size() && i < kShown; ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", known[i]);
  if (known.size() > kShown) text += fmt::format(" and {} more", known.size() - kShown);
  return text;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return fmt::format("\"{}{}\"", one_line(whole_characters(text, kShown)), text.size() > kShown ? "…" : "");
}

std::string one_line(std::string_view text) {
  auto out = std::string{};
  for (std::size_t i = 0; i < text.size();) {
    auto const [number, bytes] = first_character(text.substr(i));
    if (!number || (is_control(*number) && *number < 0x100))
      out += fmt::format("\\x{:02x}", number ? static_cast<unsigned>(*number) : static_cast<unsigned char>(text[i]));
    else if (is_control(*number))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(*number));
    else
      out += text.substr(i, bytes);
    i += bytes;
  }
  return out;
}

}  // namespace twinstep
