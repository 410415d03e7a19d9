#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "sim/io/document.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/records/kineto.hpp"

namespace twinstep::study {

/// A step that somebody traced, and the other steps of the trace.
struct MeasuredStep {
  timeline::Timeline timeline;
  std::vector<records::KinetoStepTimes> steps;  ///< empty where the trace marks none
};

/// Traces of the PyTorch profiler, one for each rank, or one that `--trace` wrote. Requires a document. `step` as in
/// records::kineto_timeline. Throws InputError.
[[nodiscard]] MeasuredStep read_traces(std::vector<io::Node> const& documents, std::optional<std::int64_t> step);

/// How long the steps took, where the time of the one that was taken goes, and its communications by kind.
[[nodiscard]] std::string measured_step_text(MeasuredStep const& measured, reports::TextStyle const& style);

}  // namespace twinstep::study
