#pragma once

#include <string>

#include "reports/accuracy.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// Predictors, families, and what was found, in tables. Points are left to the JSON.
[[nodiscard]] std::string accuracy_text(Accuracy const& accuracy, TextStyle const& style);

/// {"what", "predictors", "families", "records", "findings"}: see the README.
[[nodiscard]] std::string accuracy_json(Accuracy const& accuracy);

}  // namespace twinstep::reports
