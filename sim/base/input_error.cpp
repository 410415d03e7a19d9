#include "sim/base/input_error.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/core.h>

namespace twinstep {
namespace {

/// Levenshtein distance that ignores case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  auto const lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  auto row = std::vector<std::size_t>(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::vector<std::string_view> const& known) {
  constexpr std::size_t kLongestName = 64;
  if (name.size() > kLongestName) return {};
  auto best = std::string_view{};
  auto best_distance = name.size() / 3 + 1;
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
  auto out = std::string{"\""};
  for (auto const c : text.substr(0, kShown)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + (text.size() > kShown ? "…\"" : "\"");
}

}  // namespace twinstep
