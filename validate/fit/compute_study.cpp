#include <algorithm>
#include <cmath>

#include "validate/fit/compute_fit.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kFolds = std::size_t{5};
constexpr auto kLeastForFolds = std::size_t{10};
constexpr auto kMeasurementScatter = 0.05;  ///< of one measurement, where there are too few to see it

/// Those that decide numbers: alone on their device, and no launches.
std::vector<KernelRecord> alone(std::vector<KernelRecord> const& records) {
  auto out = std::vector<KernelRecord>{};
  for (auto const& record : records)
    if (record.work && record.beside.empty()) out.push_back(record);
  return out;
}

/// As in CalibrationErrors.
std::string kind_of(KernelRecord const& record) {
  switch (decided_by(record)) {
    case ComputeNumber::kGemm: return "gemm";
    case ComputeNumber::kPcie: return "copy";
    case ComputeNumber::kMemory: return "elementwise";
    default: return "attention";
  }
}

}  // namespace

ComputeStudy::ComputeStudy(ComputeMeasurements const& measured, hardware::Node const& prior)
    : sample_{alone(measured.kernels), measured.steps}, prior_{prior}, fit_{fit_compute(sample_, prior)} {
  predict(prior, &StudiedPoint::before);
  predict(with_values(prior, fit_.values), &StudiedPoint::fitted);
  if (sample_.kernels.size() + sample_.steps.size() < kLeastForFolds) return;
  for (std::size_t fold = 0; fold < kFolds; ++fold) hold_out(fold);
}

double ComputeStudy::spread(std::size_t number) const {
  if (folds_.empty())
    return kMeasurementScatter / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, fit_.points[number])));
  auto mean = 0.0;
  for (auto const& values : folds_) mean += std::log(values[number]) / static_cast<double>(folds_.size());
  auto squares = 0.0;
  for (auto const& values : folds_) squares += std::pow(std::log(values[number]) - mean, 2);
  return std::sqrt(squares * static_cast<double>(folds_.size() - 1) / static_cast<double>(folds_.size()));
}

void ComputeStudy::predict(hardware::Node const& node, double StudiedPoint::*store) {
  points_.resize(sample_.kernels.size() + sample_.steps.size());
  for (std::size_t i = 0; i < points_.size(); ++i) {
    auto& point = points_[i];
    if (i < sample_.kernels.size()) {
      point.kind = kind_of(sample_.kernels[i]);
      point.measured = sample_.kernels[i].time.count();
      point.*store = kernel_time(sample_.kernels[i], node).count();
    } else {
      auto const& step = sample_.steps[i - sample_.kernels.size()];
      point.kind = "step";
      point.measured = step.measured.count();
      point.*store = step.predict(node).count();
    }
  }
}

void ComputeStudy::hold_out(std::size_t fold) {
  auto rest = ComputeMeasurements{};
  for (std::size_t i = 0; i < sample_.kernels.size(); ++i)
    if (i % kFolds != fold) rest.kernels.push_back(sample_.kernels[i]);
  for (std::size_t i = 0; i < sample_.steps.size(); ++i)
    if (i % kFolds != fold) rest.steps.push_back(sample_.steps[i]);
  folds_.push_back(fit_compute(rest, prior_).values);
  auto const node = with_values(prior_, folds_.back());
  for (auto i = fold; i < sample_.kernels.size(); i += kFolds)
    points_[i].held_out = kernel_time(sample_.kernels[i], node).count();
  for (auto i = fold; i < sample_.steps.size(); i += kFolds)
    points_[sample_.kernels.size() + i].held_out = sample_.steps[i].predict(node).count();
}

}  // namespace twinstep::validate
