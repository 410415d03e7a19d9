#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::explore {

/// What one scenario of several says, as it was written.
struct Written {
  io::Node training;
  io::Node strategy;
};

/// A title for each: the strategy's name and what it recomputes, "zero-3 + recompute"; where several are alike in that,
/// what else differs between the two, "ddp, bucket 100 MiB"; and " (2)" and so on where nothing does. No two are the
/// same.
[[nodiscard]] std::vector<std::string> strategy_titles(std::vector<Written> const& scenarios);

}  // namespace twinstep::explore
