#include "validate/fit/compute_fit.hpp"

#include <algorithm>
#include <cmath>

#include "validate/fit/least_squares.hpp"

namespace twinstep::validate {
namespace {

using enum ComputeNumber;

constexpr auto kPredictionScatter = 0.05;  ///< of a measurement that a good model predicts

/// What a prediction adds to the sum of squares.
double residual_of(Seconds predicted, Seconds measured) {
  return robust(std::log(predicted / measured) / kPredictionScatter, 1);
}

std::size_t index(ComputeNumber number) {
  return static_cast<std::size_t>(number);
}

bool is_short(KernelRecord const& record) {
  constexpr auto kShort = Seconds{20e-6};
  return !std::holds_alternative<program::Copy>(*record.work) && record.time < kShort;
}

/// Which numbers kernels decide, and why not the others.
class DecidedNumbers {
 public:
  explicit DecidedNumbers(std::vector<KernelRecord> const& kernels, ComputeFit& fit) : fit_{fit} {
    auto least_k = std::int64_t{0};
    auto most_k = std::int64_t{0};
    for (auto const& record : kernels) {
      ++fit_.points[index(decided_by(record))];
      if (is_short(record)) ++fit_.points[index(kKernelStart)];
      auto const* gemm = std::get_if<program::Gemm>(&*record.work);
      if (gemm == nullptr) continue;
      least_k = least_k == 0 ? gemm->k : std::min(least_k, gemm->k);
      most_k = std::max(most_k, gemm->k);
    }
    fit_.points[index(kGemmHalfK)] = fit_.points[index(kGemm)];
    require(kGemm, "no GEMM was measured");
    require(kAttentionForward, "no forward attention was measured");
    require(kAttentionBackward, "no backward attention was measured");
    require(kMemory, "no memory-bound kernel was measured");
    require(kKernelStart, "no kernel below 20 us was measured");
    require(kPcie, "no copy between host and device was measured");
    if (most_k < 4 * least_k || least_k == 0)
      leave_out(kGemmHalfK, "the GEMMs' inner sizes lie within a factor of four");
  }

 private:
  void require(ComputeNumber number, std::string const& otherwise) {
    if (fit_.points[index(number)] == 0) leave_out(number, otherwise);
  }
  void leave_out(ComputeNumber number, std::string const& reason) {
    fit_.points[index(number)] = 0;
    fit_.left_out[index(number)] = reason;
  }

  ComputeFit& fit_;
};

/// Adds the logarithm of a number as a variable, with its profile's value as an observation.
std::size_t add_number(LeastSquares& problem, ComputeNumber number, double start) {
  auto const& info = info_of(number);
  auto const at = std::log(std::clamp(start, info.least, info.most));
  auto const variable = problem.add_variable(at, std::log(info.least), std::log(info.most));
  problem.add_term({variable}, 1, [at, doubt = info.doubt](auto values, auto residuals, bool) {
    residuals[0] = (values[0] - at) / doubt;
  });
  return variable;
}

void fit_kernels(std::vector<KernelRecord> const& kernels, hardware::Node const& prior, ComputeFit& fit) {
  auto problem = LeastSquares{};
  auto variables = std::vector<std::size_t>{};
  auto numbers = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < kComputeNumbers; ++i) {
    if (!fit.left_out[i].empty()) continue;
    variables.push_back(add_number(problem, static_cast<ComputeNumber>(i), fit.values[i]));
    numbers.push_back(i);
  }
  if (variables.empty()) return;
  problem.add_term(variables, kernels.size(), [&](auto values, auto residuals, bool) {
    auto all = fit.values;
    for (std::size_t i = 0; i < numbers.size(); ++i) all[numbers[i]] = std::exp(values[i]);
    auto const node = with_values(prior, all);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      residuals[i] = residual_of(kernel_time(kernels[i], node), kernels[i].time);
  });
  auto const solved = problem.solve();
  for (std::size_t i = 0; i < numbers.size(); ++i) fit.values[numbers[i]] = std::exp(solved[i]);
}

/// A step's time as a line in the inverse of two rates, which a step of kernels that follow each other is: GEMMs, and
/// both rates of attention by one factor.
struct StepLine {
  double time = 0;  ///< at the values where the line was drawn
  double by_gemm = 0;
  double by_attention = 0;

  /// @param gemm, attention  times as fast as where the line was drawn
  [[nodiscard]] double at(double gemm, double attention) const {
    return time + by_gemm * (1 / gemm - 1) + by_attention * (1 / attention - 1);
  }
};

ComputeValues faster(ComputeValues values, double gemm, double attention) {
  values[index(kGemm)] *= gemm;
  values[index(kAttentionForward)] *= attention;
  values[index(kAttentionBackward)] *= attention;
  return values;
}

StepLine line_of(StepSample const& step, hardware::Node const& prior, ComputeValues const& values) {
  constexpr auto kSlower = 0.9;
  auto const time = [&](double gemm, double attention) {
    return step.predict(with_values(prior, faster(values, gemm, attention))).count();
  };
  auto const here = time(1, 1);
  auto const per_unit = 1 / (1 / kSlower - 1);
  return {here, (time(kSlower, 1) - here) * per_unit, (time(1, kSlower) - here) * per_unit};
}

/// One round: lines through the present values, and the factors that fit them best.
void improve_by_steps(std::vector<StepSample> const& steps, hardware::Node const& prior, ComputeFit& fit) {
  auto lines = std::vector<StepLine>{};
  for (auto const& step : steps) lines.push_back(line_of(step, prior, fit.values));
  auto problem = LeastSquares{};
  auto const most = [&](ComputeNumber number) { return info_of(number).most / fit.values[index(number)]; };
  auto const variable = [&](bool is_open, double limit, double doubt) {
    auto const highest = is_open ? std::max(0.0, std::log(limit)) : 1e-9;
    auto const added = problem.add_variable(0, is_open ? -3 : -1e-9, highest);
    problem.add_term({added}, 1, [doubt](auto values, auto residuals, bool) { residuals[0] = values[0] / doubt; });
    return added;
  };
  auto const gemm = variable(fit.points[index(kGemm)] == 0, most(kGemm), info_of(kGemm).doubt);
  auto const attention =
      variable(fit.points[index(kAttentionForward)] + fit.points[index(kAttentionBackward)] == 0,
               std::min(most(kAttentionForward), most(kAttentionBackward)), info_of(kAttentionForward).doubt);
  problem.add_term({gemm, attention}, steps.size(), [&](auto values, auto residuals, bool) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      residuals[i] = residual_of(Seconds{lines[i].at(std::exp(values[0]), std::exp(values[1]))}, steps[i].measured);
  });
  auto const solved = problem.solve();
  fit.values = faster(fit.values, std::exp(solved[gemm]), std::exp(solved[attention]));
}

void fit_steps(std::vector<StepSample> const& steps, hardware::Node const& prior, ComputeFit& fit) {
  auto const has_gemm = fit.points[index(kGemm)] > 0;
  auto const has_attention = fit.points[index(kAttentionForward)] + fit.points[index(kAttentionBackward)] > 0;
  if (steps.empty() || (has_gemm && has_attention)) return;
  improve_by_steps(steps, prior, fit);
  improve_by_steps(steps, prior, fit);
  auto const decide = [&](ComputeNumber number) {
    fit.points[index(number)] = static_cast<std::int64_t>(steps.size());
    fit.left_out[index(number)].clear();
  };
  if (!has_gemm) decide(kGemm);
  if (!has_gemm) fit.left_out[index(kMemory)] = "in steps alone, the time of GEMMs and of memory trade off";
  if (has_attention) return;
  decide(kAttentionForward);
  decide(kAttentionBackward);
  fit.mix_note = "steps fix one factor on both; their ratio is the profile's";
}

}  // namespace

ComputeFit fit_compute(ComputeMeasurements const& measured, hardware::Node const& prior) {
  auto fit = ComputeFit{.values = values_of(prior)};
  static_cast<void>(DecidedNumbers{measured.kernels, fit});
  fit_kernels(measured.kernels, prior, fit);
  fit_steps(measured.steps, prior, fit);
  return fit;
}

}  // namespace twinstep::validate
