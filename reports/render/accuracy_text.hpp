#pragma once

#include <optional>
#include <string>

#include "reports/accuracy.hpp"
#include "reports/table.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

/// "4.3" of 0.043: in per cent, where a column's title says so; "–" for nothing.
[[nodiscard]] std::string error_text(std::optional<double> error);

/// Predictors, families, and what was found, in tables. Points are left to the JSON.
[[nodiscard]] std::string accuracy_text(Accuracy const& accuracy, TextStyle const& style);

/// The predictors alone, a line each.
[[nodiscard]] std::string predictor_table(Accuracy const& accuracy, TextStyle const& style);

/// {"name", "errors": [{"sizes", "median", "mean"}], "systems", "worst", "interval"}: one of "predictors".
void write_predictor(io::JsonWriter& out, Accuracy const& accuracy, PredictorAccuracy const& predictor);

/// {"what", "predictors", "families", "records", "findings"}: see the README.
[[nodiscard]] std::string accuracy_json(Accuracy const& accuracy);

}  // namespace twinstep::reports
