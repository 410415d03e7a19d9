#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::app {

/// Takes a number from `low` to `high`, both included: a whole one where they are. Unlike CLI::Range it refuses "nan",
/// which is in no range, and says what it expected.
template <class T>
requires std::is_arithmetic_v<T> CLI::Validator between(T low, std::type_identity_t<T> high) {
  auto const range = fmt::format("{} in [{} - {}]", std::integral<T> ? "INT" : "FLOAT", low, high);
  return {[low, high](std::string const& text) {
            auto value = T{};
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string{};
            return fmt::format("found {}, expected a {} from {} to {}", twinstep::quoted(text),
                               std::integral<T> ? "whole number" : "number", low, high);
          },
          range};
}

}  // namespace twinstep::app
