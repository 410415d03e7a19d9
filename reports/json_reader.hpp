#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/io/document.hpp"

/// Members of results that are read back: what is null or missing has no value, as files may be of an earlier version.
namespace twinstep::reports {

[[nodiscard]] inline std::optional<double> number_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  return found ? std::optional{found->number()} : std::nullopt;
}

[[nodiscard]] inline std::string text_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  return found ? std::string{found->string()} : std::string{};
}

}  // namespace twinstep::reports
