#pragma once

#include "validate/records/ddp_times.hpp"

namespace twinstep::records {

/// The CSV form of `read_step_times`.
[[nodiscard]] StepTimes read_step_csv(std::vector<NamedText> const& files);

}  // namespace twinstep::records
