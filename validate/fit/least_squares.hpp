#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace twinstep::validate {

/// A sum of squares over variables with bounds, each residual depending on a few of them. Derivatives are numeric. The
/// only door to Ceres, which is in a module that `solve` loads.
class LeastSquares {
 public:
  /// Adds a variable and gives its index. Requires lower <= start <= upper.
  std::size_t add_variable(double start, double lower, double upper);

  /// Adds `count` residuals that depend on `variables`. `evaluate` fills the residuals for their values; it is called
  /// for one set of values at a time. `is_nearby` says that they are a hair's breadth from those of the last call
  /// without it: what was decided there still holds.
  using Evaluate = std::function<void(std::span<double const> values, std::span<double> residuals, bool is_nearby)>;
  void add_term(std::vector<std::size_t> variables, std::size_t count, Evaluate evaluate);

  /// Keeps a variable at `value` in what is solved from here on.
  void hold(std::size_t variable, double value);

  /// The values of the variables at the least sum of squares that is found from their starts. The same input gives the
  /// same values. Throws Absent without Ceres.
  [[nodiscard]] std::vector<double> solve(int most_iterations = 25) const;

  /// The standard deviations that the residuals at `values` leave to each variable, the others free too but for those
  /// held: roots of the diagonal of the inverse of J'J, for residuals of spread 1. 0 for what is held. Requires that
  /// the residuals determine every free variable, however weakly.
  [[nodiscard]] std::vector<double> spreads(std::vector<double> const& values) const;

  struct Variable {
    double start = 0;
    double lower = 0;
    double upper = 0;
    bool is_held = false;
  };
  struct Term {
    std::vector<std::size_t> variables;
    std::size_t count = 0;
    Evaluate evaluate;
  };
  [[nodiscard]] std::vector<Variable> const& variables() const { return variables_; }
  [[nodiscard]] std::vector<Term> const& terms() const { return terms_; }

 private:
  std::vector<Variable> variables_;
  std::vector<Term> terms_;
};

/// A residual that hardly grows any more far from zero, so that a measurement which something else held back does not
/// carry a fit away (Cauchy's loss, as a residual). @param bend  from where on it counts less and less
[[nodiscard]] double robust(double residual, double bend = 1.5);

}  // namespace twinstep::validate
