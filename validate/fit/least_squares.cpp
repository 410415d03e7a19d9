#include "validate/fit/least_squares.hpp"

#include <Eigen/Dense>
#include <ceres/ceres.h>
#include <cmath>

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

Eigen::Index index_of(std::size_t place) {
  return static_cast<Eigen::Index>(place);
}

/// The derivatives of one term's residuals: a column for each of its variables.
Eigen::MatrixXd jacobian_of(std::vector<std::size_t> const& variables, std::size_t count,
                            LeastSquares::Evaluate const& evaluate, std::vector<double> const& values) {
  auto const cost = Cost{variables.size(), count, evaluate};
  auto residuals = std::vector<double>(count);
  auto jacobian = Eigen::MatrixXd{index_of(count), index_of(variables.size())};
  auto parameters = std::vector<double const*>{};
  auto columns = std::vector<double*>{};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    parameters.push_back(&values[variables[i]]);
    columns.push_back(jacobian.col(index_of(i)).data());
  }
  cost.Evaluate(parameters.data(), residuals.data(), columns.data());
  return jacobian;
}

}  // namespace

std::size_t LeastSquares::add_variable(double start, double lower, double upper) {
  TWINSTEP_CHECK(lower <= start && start <= upper, "a variable starts within its bounds");
  variables_.push_back({start, lower, upper});
  return variables_.size() - 1;
}

void LeastSquares::add_term(std::vector<std::size_t> variables, std::size_t count, Evaluate evaluate) {
  terms_.push_back({std::move(variables), count, std::move(evaluate)});
}

void LeastSquares::hold(std::size_t variable, double value) {
  auto& held = variables_[variable];
  held.start = value;
  held.is_held = true;
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
    if (variables_[i].is_held) {
      problem.SetParameterBlockConstant(&values[i]);
      continue;
    }
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

std::vector<double> LeastSquares::spreads(std::vector<double> const& values) const {
  auto const size = static_cast<Eigen::Index>(variables_.size());
  auto information = Eigen::MatrixXd{Eigen::MatrixXd::Zero(size, size)};
  for (auto const& term : terms_) {
    auto const jacobian = jacobian_of(term.variables, term.count, term.evaluate, values);
    for (std::size_t a = 0; a < term.variables.size(); ++a)
      for (std::size_t b = 0; b < term.variables.size(); ++b)
        information(index_of(term.variables[a]), index_of(term.variables[b])) +=
            jacobian.col(index_of(a)).dot(jacobian.col(index_of(b)));
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!variables_[i].is_held) continue;
    information.row(index_of(i)).setZero();
    information.col(index_of(i)).setZero();
    information(index_of(i), index_of(i)) = 1;
  }
  auto const inverse = Eigen::MatrixXd{information.ldlt().solve(Eigen::MatrixXd::Identity(size, size))};
  auto result = std::vector<double>{};
  for (std::size_t i = 0; i < variables_.size(); ++i)
    result.push_back(variables_[i].is_held ? 0 : std::sqrt(inverse(index_of(i), index_of(i))));
  return result;
}

double robust(double residual, double bend) {
  auto const scaled = residual / bend;
  return std::copysign(bend * std::sqrt(std::log1p(scaled * scaled)), residual);
}

}  // namespace twinstep::validate
