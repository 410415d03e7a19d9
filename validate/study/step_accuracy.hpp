#pragma once

#include <optional>
#include <vector>

#include "reports/accuracy.hpp"
#include "sim/hardware/cluster.hpp"
#include "validate/records/step_record.hpp"

namespace twinstep::study {

/// How far predictions of training steps lie from records: every row beside its prediction, the errors of each way of
/// predicting, and why rows are skipped. The machine is `named`, or else the one that a record describes.
[[nodiscard]] reports::Accuracy compare_steps(std::vector<validate::StepRecord> const& records,
                                              std::optional<hardware::Cluster> const& named);

}  // namespace twinstep::study
