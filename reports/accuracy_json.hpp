#pragma once

#include <string>

#include "reports/accuracy.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

/// {"name", "errors": [{"sizes", "median", "mean"}], "systems", "worst", "interval"}: one of "predictors".
void write_predictor(io::JsonWriter& out, Accuracy const& accuracy, PredictorAccuracy const& predictor);

/// {"what", "group", "baseline", "predictors", "families", "records", "findings"}.
[[nodiscard]] std::string accuracy_json(Accuracy const& accuracy);

/// Reads it back. Throws InputError.
[[nodiscard]] Accuracy read_accuracy(io::Node const& document);

}  // namespace twinstep::reports
