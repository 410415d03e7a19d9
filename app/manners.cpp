#include "app/manners.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

/// Replaces "help X" and "-".
void replace_short_forms(std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  auto const writes = [is_report = !arguments.empty() && arguments.front() == "report"](std::string_view option) {
    constexpr auto kWriters =
        std::to_array<std::string_view>({"--out", "--trace", "--report", "--markdown", "--csv", "--jsonl"});
    return std::ranges::find(kWriters, option) != kWriters.end() || (is_report && option == "--json");
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& argument = arguments[i];
    if (argument == "-")
      argument = i > 0 && writes(arguments[i - 1]) ? "/dev/stdout" : "/dev/stdin";
    else if (argument.ends_with("=-") && writes(std::string_view{argument}.substr(0, argument.size() - 2)))
      argument.replace(argument.size() - 1, 1, "/dev/stdout");
  }
}

/// Takes --color out of the arguments.
void take_color(std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--color";
  auto const at = std::ranges::find_if(
      arguments, [&](std::string const& argument) { return argument == kOption || argument.starts_with("--color="); });
  if (at == arguments.end()) return;
  auto const has_value = at->size() > kOption.size();
  auto const end = has_value || at + 1 == arguments.end() ? at + 1 : at + 2;
  auto const when = has_value ? at->substr(kOption.size() + 1) : end == at + 2 ? *(at + 1) : std::string{};
  if (when != "auto" && when != "always" && when != "never")
    throw InputError{
        fmt::format("--color: found {}, expected auto, always or never; choose one of them", twinstep::quoted(when))};
  arguments.erase(at, end);
  if (when == "never") setenv("NO_COLOR", "1", 1);
  if (when != "always") return;
  unsetenv("NO_COLOR");
  setenv("CLICOLOR_FORCE", "1", 1);
}

}  // namespace

std::vector<std::string> without_manners(std::vector<std::string> arguments) {
  replace_short_forms(arguments);
  take_color(arguments);
  return arguments;
}

}  // namespace twinstep::app
