#pragma once

#include <string>
#include <vector>

#include "reports/accuracy.hpp"
#include "validate/study/study.hpp"

namespace twinstep::study {

/// What practitioners would find odd about the records of a study on their machines, before any prediction.
[[nodiscard]] std::vector<std::string> oddities_of(Study const& study);

/// Adds the oddities, and a finding for every record that lies far from its prediction by the constants as shipped,
/// which is noted with the record's points too.
void add_findings(reports::Accuracy& accuracy, Study const& study);

}  // namespace twinstep::study
