#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace twinstep {

/// The texts of an enumeration, in the order of its values, which run from 0 without gaps. Specialise it
/// beside the enumeration; printing, reading and suggesting then all use the one list.
template <class Enum>
struct EnumNames;  // static constexpr std::array<std::string_view, N> values

template <class Enum>
[[nodiscard]] constexpr std::string_view name_of(Enum value) {
  return EnumNames<Enum>::values[static_cast<std::size_t>(value)];
}

/// The value that `name` spells exactly, or nothing.
template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> find_enum(std::string_view name) {
  auto const& names = EnumNames<Enum>::values;
  auto const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

template <class Enum>
[[nodiscard]] std::vector<std::string_view> all_names() {
  return {EnumNames<Enum>::values.begin(), EnumNames<Enum>::values.end()};
}

/// How many values the enumeration has.
template <class Enum>
inline constexpr std::size_t kEnumSize = EnumNames<Enum>::values.size();

}  // namespace twinstep
