#pragma once

#include <string>
#include <utility>

#include "reports/summary.hpp"

namespace twinstep::tests {

/// One answer as a document of its own: `summary_json(summary, wall)`.
template <class Answer>
[[nodiscard]] std::string summary_json(Answer const& answer, Seconds wall) {
  auto json = io::JsonWriter{};
  reports::write_summary(json, answer, wall);
  return std::move(json).finish();
}

}  // namespace twinstep::tests
