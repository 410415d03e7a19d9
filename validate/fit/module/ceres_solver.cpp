#include <ceres/ceres.h>

#include "sim/base/module.hpp"
#include "validate/fit/differences.hpp"

// The module behind LeastSquares::solve.

namespace twinstep::validate {
namespace {

class Cost : public ceres::CostFunction {
 public:
  explicit Cost(LeastSquares::Term const& term) : term_{term} {
    set_num_residuals(static_cast<int>(term.count));
    mutable_parameter_block_sizes()->assign(term.variables.size(), 1);
  }

  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    differentiate(term_, parameters, residuals, jacobians);
    return true;
  }

 private:
  LeastSquares::Term const& term_;
};

std::vector<double> solve(LeastSquares const& question, int most_iterations) {
  auto values = std::vector<double>{};
  for (auto const& variable : question.variables()) values.push_back(variable.start);
  auto problem = ceres::Problem{};
  for (auto const& term : question.terms()) {
    auto blocks = std::vector<double*>{};
    for (auto const index : term.variables) blocks.push_back(&values[index]);
    problem.AddResidualBlock(new Cost{term}, nullptr, blocks);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const& variable = question.variables()[i];
    if (!problem.HasParameterBlock(&values[i])) continue;
    if (variable.is_held) {
      problem.SetParameterBlockConstant(&values[i]);
      continue;
    }
    problem.SetParameterLowerBound(&values[i], 0, variable.lower);
    problem.SetParameterUpperBound(&values[i], 0, variable.upper);
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

}  // namespace
}  // namespace twinstep::validate

TWINSTEP_MODULE_FUNCTION void twinstep_solve_least_squares(twinstep::validate::LeastSquares const& question,
                                                           int most_iterations, std::vector<double>& values) {
  values = twinstep::validate::solve(question, most_iterations);
}
