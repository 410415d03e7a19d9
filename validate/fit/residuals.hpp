#pragma once

#include <vector>

#include "validate/fit/collective_constants.hpp"
#include "validate/fit/least_squares.hpp"

/// How predictions of a record enter a fit of constants.
namespace twinstep::validate {

/// How far points lie from good predictions.
struct Loss {
  double noise = 0.1;  ///< in logarithms
  double bend = 1.5;   ///< in noises: from where on a point counts less and less
};

/// What each point of a record counts: its ranges of sizes (hardware::SizeRange) alike, outliers nothing; 1 together.
[[nodiscard]] std::vector<double> shares_of_points(CollectiveRecord const& record);

/// A constant that a record depends on, and the variable that holds its logarithm.
struct BoundConstant {
  Constant const* constant = nullptr;
  std::size_t variable = 0;
};

/// Adds the points of a record: log(predicted / measured) over the noise, robust, each squared counting `weights`
/// times. Evaluating them changes the constants of `one`, which the problem refers to.
void add_points(LeastSquares& problem, CollectiveCase& one, std::vector<BoundConstant> constants,
                std::vector<double> weights, Loss loss);

}  // namespace twinstep::validate
