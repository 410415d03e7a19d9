#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace twinstep::app {

/// Takes a number from `low` to `high`, both included. Unlike CLI::Range it refuses "nan", which is in no range.
inline CLI::Validator between(double low, double high) {
  auto const range = fmt::format("FLOAT in [{} - {}]", low, high);
  return {[low, high](std::string const& text) {
            auto value = 0.0;
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string{};
            return fmt::format("Value {} not in range {} to {}", text, low, high);
          },
          range};
}

}  // namespace twinstep::app
