#pragma once

#include <string>

#include "reports/plan.hpp"
#include "sim/io/document.hpp"

namespace twinstep::reports {

/// One document: goal, plans, pareto, rejected, minimum_gpus, verdict. Times are in seconds, memory in bytes.
[[nodiscard]] std::string plans_json(Plans const& plans, Seconds wall);

/// Reads it back. Of files of earlier versions what is missing stays empty. Throws InputError.
[[nodiscard]] Plans read_plans(io::Node const& document);

}  // namespace twinstep::reports
