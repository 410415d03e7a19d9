#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/accuracy.hpp"
#include "reports/table.hpp"
#include "sim/hardware/cluster.hpp"
#include "validate/records/step_record.hpp"
#include "validate/study/study.hpp"

/// How far predictions of collectives lie from a study's measurements.
namespace twinstep::study {

/// By what the records are predicted besides the constants of their machines.
struct CollectiveComparison {
  bool leaves_out = false;       ///< each system by constants that were fitted without it
  bool cross_validates = false;  ///< each system by calibrations to a part of it
  /// Hears from any thread how many systems were left out, of how many.
  std::function<void(std::size_t, std::size_t)> tell;
};

/// Every point of every record beside its prediction, the errors of each way of predicting, and what is odd: about the
/// records, and where one lies far from its prediction by the constants as shipped, which is noted with its points too.
[[nodiscard]] reports::Accuracy compare_collectives(Study const& study, std::optional<hardware::Cluster> const& named,
                                                    CollectiveComparison const& comparison);

/// The constants that are fitted with each system left out, and the intervals that their errors give.
[[nodiscard]] std::string fitted_constants_text(Study const& study, std::optional<hardware::Cluster> const& named,
                                                reports::TextStyle const& style);

/// How far predictions of training steps lie from records: every row beside its prediction, the errors of each way of
/// predicting, and why rows are skipped. The machine is `named`, or else the one that a record describes.
[[nodiscard]] reports::Accuracy compare_steps(std::vector<validate::StepRecord> const& records,
                                              std::optional<hardware::Cluster> const& named);

}  // namespace twinstep::study
