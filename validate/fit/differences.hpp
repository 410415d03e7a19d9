#pragma once

#include <span>
#include <vector>

#include "validate/fit/least_squares.hpp"

namespace twinstep::validate {

/// A term's residuals at `values`, one for each of its variables, and by forward differences their derivatives by
/// variable i, in `derivatives[i]` unless that is null. Of a model that takes the cheapest of several ways, the
/// derivative is that of the way taken. Values and arrays are as Ceres wants them.
inline void differentiate(LeastSquares::Term const& term, double const* const* values, double* residuals,
                          double* const* derivatives) {
  constexpr auto kStep = 1e-4;
  auto here = std::vector<double>(term.variables.size());
  auto beside = std::vector<double>(term.count);
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = *values[i];
  term.evaluate(here, std::span{residuals, term.count}, false);
  if (derivatives == nullptr) return;
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (derivatives[i] == nullptr) continue;
    here[i] += kStep;
    term.evaluate(here, beside, true);
    here[i] -= kStep;
    for (std::size_t r = 0; r < term.count; ++r) derivatives[i][r] = (beside[r] - residuals[r]) / kStep;
  }
}

}  // namespace twinstep::validate
