#pragma once

#include <string>

#include "reports/summary.hpp"
#include "reports/table.hpp"
#include "reports/why.hpp"

namespace twinstep::reports {

/// What the step waits for, longest first, with the link that is busiest; then the single changes that help most.
/// Lines of --set are never cut, so that they can be pasted.
[[nodiscard]] std::string why_text(Summary const& summary, Why const& why, TextStyle const& style);

}  // namespace twinstep::reports
