#pragma once

#include <string>

#include "tests/support/step_records.hpp"
#include "validate/records/step_record.hpp"

namespace twinstep::tests {

/// A record as it is read from a file of its own.
inline validate::StepRecord read_step(std::string const& text) {
  return validate::read_step_records(io::parse({"steps.json", "[" + text + "]"})).front();
}

}  // namespace twinstep::tests
