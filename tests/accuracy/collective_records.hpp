#pragma once

#include <string>

#include "tests/cli/run_twinstep.hpp"

namespace twinstep::tests {

/// Published measurements of collectives.
inline std::string collective_records() {
  return in_repository("tests/accuracy/collectives.json");
}

}  // namespace twinstep::tests
