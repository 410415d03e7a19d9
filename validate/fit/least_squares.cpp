#include "validate/fit/least_squares.hpp"

#include <ceres/ceres.h>

#include "sim/base/check.hpp"

namespace twinstep::validate {
namespace {

/// One term as Ceres wants it, with forward differences. Of a model that takes the cheapest of several ways, the
/// derivative is that of the way taken.
class Cost : public ceres::CostFunction {
 public:
  Cost(std::size_t variables, std::size_t residuals, LeastSquares::Evaluate const& evaluate)
      : evaluate_{evaluate}, values_(variables), residuals_(residuals) {
    set_num_residuals(static_cast<int>(residuals));
    for (std::size_t i = 0; i < variables; ++i) mutable_parameter_block_sizes()->push_back(1);
  }

  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    constexpr auto kStep = 1e-4;
    auto const out = std::span{residuals, residuals_.size()};
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = *parameters[i];
    evaluate_(values_, out, false);
    if (jacobians == nullptr) return true;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (jacobians[i] == nullptr) continue;
      values_[i] += kStep;
      evaluate_(values_, residuals_, true);
      values_[i] -= kStep;
      for (std::size_t r = 0; r < residuals_.size(); ++r) jacobians[i][r] = (residuals_[r] - out[r]) / kStep;
    }
    return true;
  }

 private:
  LeastSquares::Evaluate const& evaluate_;
  mutable std::vector<double> values_;
  mutable std::vector<double> residuals_;
};

}  // namespace

std::size_t LeastSquares::add_variable(double start, double lower, double upper) {
  TWINSTEP_CHECK(lower <= start && start <= upper, "a variable starts within its bounds");
  variables_.push_back({start, lower, upper});
  return variables_.size() - 1;
}

void LeastSquares::add_term(std::vector<std::size_t> variables, std::size_t count, Evaluate evaluate) {
  terms_.push_back({std::move(variables), count, std::move(evaluate)});
}

std::vector<double> LeastSquares::solve(int most_iterations) const {
  auto values = std::vector<double>{};
  for (auto const& variable : variables_) values.push_back(variable.start);
  auto problem = ceres::Problem{};
  for (auto const& term : terms_) {
    auto blocks = std::vector<double*>{};
    for (auto const index : term.variables) blocks.push_back(&values[index]);
    problem.AddResidualBlock(new Cost{term.variables.size(), term.count, term.evaluate}, nullptr, blocks);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!problem.HasParameterBlock(&values[i])) continue;
    problem.SetParameterLowerBound(&values[i], 0, variables_[i].lower);
    problem.SetParameterUpperBound(&values[i], 0, variables_[i].upper);
  }
  auto options = ceres::Solver::Options{};
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = most_iterations;
  options.function_tolerance = 1e-4;
  options.logging_type = ceres::SILENT;
  auto summary = ceres::Solver::Summary{};
  ceres::Solve(options, &problem, &summary);
  return values;
}

}  // namespace twinstep::validate
