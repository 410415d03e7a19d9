#include "validate/fit/least_squares.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/module.hpp"
#include "validate/fit/differences.hpp"

namespace twinstep::validate {
namespace {

Eigen::Index index_of(std::size_t place) {
  return static_cast<Eigen::Index>(place);
}

/// The derivatives of one term's residuals: a column for each of its variables.
Eigen::MatrixXd jacobian_of(LeastSquares::Term const& term, std::vector<double> const& values) {
  auto residuals = std::vector<double>(term.count);
  auto jacobian = Eigen::MatrixXd{index_of(term.count), index_of(term.variables.size())};
  auto parameters = std::vector<double const*>{};
  auto columns = std::vector<double*>{};
  for (std::size_t i = 0; i < term.variables.size(); ++i) {
    parameters.push_back(&values[term.variables[i]]);
    columns.push_back(jacobian.col(index_of(i)).data());
  }
  differentiate(term, parameters.data(), residuals.data(), columns.data());
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
  auto* const solve =
      function_of<void(LeastSquares const&, int, std::vector<double>&)>({.file = "libtwinstep_ceres.so",
                                                                         .function = "twinstep_solve_least_squares",
                                                                         .is_for = "solver for fits",
                                                                         .packages = "Ceres (libceres-dev)"});
  auto values = std::vector<double>{};
  solve(*this, most_iterations, values);
  return values;
}

std::vector<double> LeastSquares::spreads(std::vector<double> const& values) const {
  auto const size = static_cast<Eigen::Index>(variables_.size());
  auto information = Eigen::MatrixXd{Eigen::MatrixXd::Zero(size, size)};
  for (auto const& term : terms_) {
    auto const jacobian = jacobian_of(term, values);
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
