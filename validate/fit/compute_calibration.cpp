#include "validate/fit/compute_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/fit/compute_fit.hpp"
#include "validate/score/step_intervals.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kFolds = std::size_t{5};
constexpr auto kLeastForFolds = std::size_t{10};

/// Those that decide numbers: alone on their device, and no launches.
std::vector<KernelRecord> alone(std::vector<KernelRecord> const& records) {
  auto out = std::vector<KernelRecord>{};
  for (auto const& record : records)
    if (record.work && record.beside.empty()) out.push_back(record);
  return out;
}

void check(ComputeMeasurements const& measured, hardware::Node const& prior) {
  for (auto const& record : measured.kernels) {
    if (record.device != measured.kernels.front().device)
      throw InputError{
          fmt::format("found kernels of {} and of {}, expected one type of device; calibrate each by itself",
                      quoted(measured.kernels.front().device), quoted(record.device))};
    if (!record.work) continue;
    auto const type = std::visit(
        [](auto const& work) -> std::optional<DataType> {
          if constexpr (
              requires { work.transpose_a; } || requires { work.causal; })
            return work.type;
          return std::nullopt;
        },
        *record.work);
    if (type && !prior.gpu.peak(*type))
      throw InputError{fmt::format("found a kernel in {}, for which {} has no rate; add one to \"peaks\"",
                                   name_of(*type), prior.gpu.name)};
  }
}

/// What "gemm" stands for in the table of errors.
std::string kind_of(KernelRecord const& record) {
  switch (decided_by(record)) {
    case ComputeNumber::kGemm: return "gemm";
    case ComputeNumber::kPcie: return "copy";
    case ComputeNumber::kMemory: return "elementwise";
    default: return "attention";
  }
}

/// One point in all of its predictions.
struct Point {
  std::string kind;
  double measured = 0;
  double before = 0;
  double fitted = 0;
  std::optional<double> held_out;
};

double error(double predicted, double measured) {
  return std::abs(predicted / measured - 1);
}

std::vector<CalibrationErrors> summarize(std::vector<Point> const& points) {
  auto by_kind = std::map<std::string, CalibrationErrors>{};
  auto held_out = std::map<std::string, std::pair<double, double>>{};
  for (auto const& point : points) {
    auto& errors = by_kind[point.kind];
    errors.kind = point.kind;
    ++errors.points;
    errors.before += error(point.before, point.measured);
    errors.fitted += error(point.fitted, point.measured);
    if (!point.held_out) continue;
    held_out[point.kind].first += error(*point.held_out, point.measured);
    held_out[point.kind].second += 1;
  }
  auto out = std::vector<CalibrationErrors>{};
  for (auto& [kind, errors] : by_kind) {
    errors.before /= static_cast<double>(errors.points);
    errors.fitted /= static_cast<double>(errors.points);
    if (auto const found = held_out.find(kind); found != held_out.end())
      errors.held_out = found->second.first / found->second.second;
    out.push_back(errors);
  }
  return out;
}

/// All points with the predictions of a fit that saw them, and of one that did not.
class Study {
 public:
  Study(ComputeMeasurements const& measured, hardware::Node const& prior)
      : sample_{alone(measured.kernels), measured.steps}, prior_{prior}, fit_{fit_compute(sample_, prior)} {
    predict(prior, &Point::before);
    predict(with_values(prior, fit_.values), &Point::fitted);
    if (sample_.kernels.size() + sample_.steps.size() < kLeastForFolds) return;
    for (std::size_t fold = 0; fold < kFolds; ++fold) hold_out(fold);
  }

  [[nodiscard]] ComputeFit const& fit() const { return fit_; }
  [[nodiscard]] std::vector<Point> const& points() const { return points_; }
  [[nodiscard]] ComputeValues before() const { return values_of(prior_); }

  /// The jackknife's standard deviation of the logarithm of a number; of the kind's own scatter without folds.
  [[nodiscard]] double spread(std::size_t number) const {
    if (folds_.empty())
      return kScatter / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, fit_.points[number])));
    auto mean = 0.0;
    for (auto const& values : folds_) mean += std::log(values[number]) / static_cast<double>(folds_.size());
    auto squares = 0.0;
    for (auto const& values : folds_) squares += std::pow(std::log(values[number]) - mean, 2);
    return std::sqrt(squares * static_cast<double>(folds_.size() - 1) / static_cast<double>(folds_.size()));
  }

 private:
  static constexpr auto kScatter = 0.05;  ///< of one measurement, where there are too few to see it

  template <class Store>
  void predict(hardware::Node const& node, Store store) {
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

  void hold_out(std::size_t fold) {
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

  ComputeMeasurements sample_;
  hardware::Node const& prior_;
  ComputeFit fit_;
  std::vector<Point> points_;
  std::vector<ComputeValues> folds_;
};

std::vector<FittedNumber> numbers_of(Study const& study) {
  auto out = std::vector<FittedNumber>{};
  auto const& fit = study.fit();
  for (std::size_t i = 0; i < kComputeNumbers; ++i) {
    auto const& info = info_of(static_cast<ComputeNumber>(i));
    auto const value = fit.values[i];
    auto const factor = fit.left_out[i].empty() ? std::exp(study.spread(i)) : 1;
    out.push_back({.path = std::string{info.path},
                   .value = value,
                   .low = value / factor,
                   .high = std::min(value * factor, info.most),
                   .unit = std::string{info.unit},
                   .points = fit.points[i],
                   .left_out = fit.left_out[i],
                   .before = study.before()[i]});
  }
  return out;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  auto const half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The host's time for one launch.
FittedNumber launch_of(std::vector<KernelRecord> const& records, hardware::Node& node) {
  constexpr auto kMicrosecond = 1e-6;
  auto number = FittedNumber{.path = "node.host.launch", .unit = "us"};
  auto times = std::vector<double>{};
  for (auto const& record : records)
    if (!record.work) times.push_back(record.time.count() / static_cast<double>(record.launches) / kMicrosecond);
  number.before = to_seconds(node.host.launch.value).count() / kMicrosecond;
  number.points = static_cast<std::int64_t>(times.size());
  if (times.empty()) {
    number.value = number.low = number.high = number.before;
    number.left_out = "no launches were measured";
    return number;
  }
  number.value = median(times);
  number.low = std::ranges::min(times);
  number.high = std::ranges::max(times);
  node.host.launch.value = to_duration(Seconds{number.value * kMicrosecond});
  return number;
}

/// How much longer kernels take beside a collective: told, for the model makes it from held SMs and shared bandwidth.
std::vector<FittedNumber> slowdowns(std::vector<KernelRecord> const& records) {
  auto factors = std::map<std::string, std::vector<double>>{};
  for (auto const& record : records) {
    if (record.beside.empty() || !record.work) continue;
    auto const twin = std::ranges::find_if(
        records, [&](KernelRecord const& other) { return other.beside.empty() && other.work == record.work; });
    if (twin != records.end()) factors[record.beside].push_back(record.time / twin->time);
  }
  auto out = std::vector<FittedNumber>{};
  for (auto& [collective, values] : factors) {
    auto const [least, most] = std::ranges::minmax(values);
    out.push_back({.path = fmt::format("slowdown beside {}", collective),
                   .value = median(values),
                   .low = least,
                   .high = most,
                   .points = static_cast<std::int64_t>(values.size()),
                   .left_out = "the model has no factor for it: a collective's SMs and its share of the memory "
                               "bandwidth slow kernels",
                   .before = 1});
  }
  return out;
}

/// From the points that took no part; of steps where there are any.
std::optional<hardware::ErrorBand> interval_of(std::vector<Point> const& points) {
  auto const has_steps = std::ranges::any_of(points, [](Point const& point) { return point.kind == "step"; });
  auto factors = std::vector<double>{};
  for (auto const& point : points)
    if (point.held_out && (!has_steps || point.kind == "step")) factors.push_back(point.measured / *point.held_out);
  auto const band = band_of(std::move(factors));
  if (!band) return std::nullopt;
  auto const source = std::string{"points that a calibration of the others predicted"};
  return hardware::ErrorBand{{band->low, hardware::Basis::kFitted, source},
                             {band->high, hardware::Basis::kFitted, source}};
}

}  // namespace

ComputeCalibration calibrate_compute(ComputeMeasurements const& measured, hardware::Node const& prior) {
  check(measured, prior);
  auto const study = Study{measured, prior};
  auto out = ComputeCalibration{.numbers = numbers_of(study),
                                .errors = summarize(study.points()),
                                .node = with_values(prior, study.fit().values),
                                .interval = interval_of(study.points())};
  out.numbers.push_back(launch_of(measured.kernels, out.node));
  if (!study.fit().mix_note.empty())
    out.numbers.push_back(
        {.path = "node.gpu.efficiency.attention_forward / attention_backward",
         .value = out.node.gpu.efficiency.attention_forward.value / out.node.gpu.efficiency.attention_backward.value,
         .left_out = study.fit().mix_note});
  std::ranges::move(slowdowns(measured.kernels), std::back_inserter(out.numbers));
  return out;
}

}  // namespace twinstep::validate
