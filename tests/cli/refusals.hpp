#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

namespace twinstep::tests {

/// Exit 2, nothing on standard output, one line on standard error that says `says`.
inline void check_refusal(Outcome const& outcome, std::vector<std::string> const& says) {
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  for (auto const& part : says) CHECK_THAT(outcome.err, Catch::Contains(part));
}

}  // namespace twinstep::tests
