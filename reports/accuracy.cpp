#include "reports/accuracy.hpp"

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::reports {

std::string error_text(std::optional<double> error) {
  return error ? fmt::format("{:.1f}", *error * 100) : std::string{kNoValue};
}

PageTable predictor_table(Accuracy const& accuracy) {
  auto table = PageTable{.headers = {"median / mean error, %"}};
  table.headers.insert(table.headers.end(), accuracy.sizes.begin(), accuracy.sizes.end());
  for (auto const& predictor : accuracy.predictors) {
    auto row = std::vector<std::string>{predictor.name};
    for (auto const& [median, mean] : predictor.by_size)
      row.push_back(median || mean ? fmt::format("{} / {}", error_text(median), error_text(mean))
                                   : std::string{kNoValue});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> interval_notes(Accuracy const& accuracy) {
  auto notes = std::vector<std::string>{};
  for (auto const& predictor : accuracy.predictors)
    if (auto const& its = predictor.intervals)
      notes.push_back(fmt::format("{}: {:.0f} % of {} points lie in their 90 % interval, in the median ± {:.0f} %",
                                  predictor.name, its->inside * 100, its->points, its->median_half_width * 100));
  return notes;
}

}  // namespace twinstep::reports
