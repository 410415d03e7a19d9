#pragma once

#include <stdexcept>

namespace twinstep::program {

/// What every executor throws when nothing more can happen and operations remain. The text says who waits for whom.
class StuckProgram : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace twinstep::program
