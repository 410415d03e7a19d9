#pragma once

#include <vector>

#include "reports/accuracy.hpp"
#include "validate/score/collective_case.hpp"

namespace twinstep::app {

/// Adds a finding for every record that lies far from its prediction by the constants as shipped, and notes it with the
/// record's points.
void add_findings(reports::Accuracy& accuracy, std::vector<validate::CollectiveCase> const& cases);

}  // namespace twinstep::app
