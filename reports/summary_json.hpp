#pragma once

#include <string>

#include "reports/summary.hpp"

namespace twinstep::reports {

/// One JSON document about one step; the keys are stable, others script against them. Times are in seconds, memory and
/// traffic in bytes, unknown values null. `wall` is how long the answer took.
///
/// "interval" {low_s, high_s} is null but for a calibrated cluster: there is no basis for one. "does_not_fit" is null
/// for a step that fits.
[[nodiscard]] std::string summary_json(Summary const& summary, Seconds wall);

/// The same document for a plan that cannot be laid out: the same keys, every number null, "fits" and "feasible"
/// false, and a reason.
[[nodiscard]] std::string summary_json(Infeasible const& infeasible, Seconds wall);

}  // namespace twinstep::reports
