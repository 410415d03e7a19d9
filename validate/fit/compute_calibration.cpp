#include "validate/fit/compute_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "hw_profiles/number_path.hpp"
#include "sim/base/input_error.hpp"
#include "validate/fit/compute_fit.hpp"
#include "validate/score/averages.hpp"
#include "validate/score/step_intervals.hpp"

namespace twinstep::validate {
namespace {

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

double error(double predicted, double measured) {
  return std::abs(predicted / measured - 1);
}

std::vector<CalibrationErrors> summarize(std::vector<StudiedPoint> const& points) {
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

std::string unit_of(hardware::Node const& node, std::string_view path) {
  return std::string{hw_profiles::number_at(node, path)->unit};
}

std::vector<FittedNumber> numbers_of(ComputeStudy const& study, hardware::Node const& node) {
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
                   .unit = unit_of(node, info.path),
                   .points = fit.points[i],
                   .left_out = fit.left_out[i],
                   .before = study.before()[i]});
  }
  return out;
}

/// The host's time for one launch.
FittedNumber launch_of(std::vector<KernelRecord> const& records, hardware::Node& node) {
  constexpr auto kPath = "node.host.launch";
  auto number = FittedNumber{.path = kPath, .unit = unit_of(node, kPath)};
  auto times = std::vector<double>{};
  for (auto const& record : records)
    if (!record.work) times.push_back(record.time.count() / static_cast<double>(record.launches) / kMicrosecond);
  number.before = hw_profiles::number_at(node, kPath)->value;
  number.points = static_cast<std::int64_t>(times.size());
  if (times.empty()) {
    number.value = number.low = number.high = number.before;
    number.left_out = "no launches were measured";
    return number;
  }
  number.value = median(times);
  number.low = std::ranges::min(times);
  number.high = std::ranges::max(times);
  hw_profiles::set_numbers(node, kPath, number.value);
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
std::optional<hardware::ErrorBand> interval_of(std::vector<StudiedPoint> const& points) {
  auto const has_steps = std::ranges::any_of(points, [](StudiedPoint const& point) { return point.kind == "step"; });
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
  auto const study = ComputeStudy{measured, prior};
  auto out = ComputeCalibration{.numbers = numbers_of(study, prior),
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
