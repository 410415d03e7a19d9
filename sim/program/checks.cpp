#include "sim/program/checks.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"

namespace twinstep::program {
namespace {

void expect_none(std::string_view what, std::vector<std::string> const& findings) {
  if (findings.empty()) return;
  constexpr std::size_t kShown = 5;
  auto text = fmt::format("a step program has {} {}:", findings.size(), what);
  for (std::size_t i = 0; i < findings.size() && i < kShown; ++i) text += "\n  " + findings[i];
  throw InternalError{text};
}

}  // namespace

void check(StepProgram const& program) {
  expect_none("defects", find_defects(program));
  expect_none("races", find_races(program));
  expect_none("mismatches", find_mismatches(program));
}

}  // namespace twinstep::program
