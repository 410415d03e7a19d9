#include "validate/score/baselines.hpp"

#include <algorithm>
#include <cmath>

#include "sim/program/bus_bandwidth.hpp"

namespace twinstep::validate {
namespace {

double bytes_of(MeasuredPoint const& point) {
  return static_cast<double>(point.size.count());
}

/// How different two machines are: first the network, then the links, then the number of ranks.
double distance(CollectiveCase const& a, CollectiveCase const& b) {
  auto const network = [](CollectiveCase const& one) {
    return one.layout().nodes() > 1 ? one.cluster().fabric.transport.name : std::string{};
  };
  auto const is_other_network = network(a) != network(b);
  auto const is_other_link = a.cluster().node().link.name != b.cluster().node().link.name;
  auto const ratio = static_cast<double>(a.record().ranks) / static_cast<double>(b.record().ranks);
  return (is_other_network ? 100 : 0) + (is_other_link ? 10 : 0) + std::abs(std::log2(ratio));
}

double factor_of(CollectiveRecord const& record) {
  auto const kind = record.kind.collective;
  return kind ? program::bus_factor(*kind, record.ranks) : 1.0;
}

/// The time that `record` would show for `size`: between two points the logarithm of time is a line over that of size;
/// beyond the last its bandwidth holds. Nothing for sizes below its first.
std::optional<Seconds> time_at(CollectiveRecord const& record, double size) {
  auto const& points = record.points;
  auto const after = std::ranges::find_if(points, [&](auto const& point) { return bytes_of(point) >= size; });
  if (after != points.end() && bytes_of(*after) == size) return after->time;
  if (after == points.begin()) return std::nullopt;
  if (after == points.end()) return points.back().time * (size / bytes_of(points.back()));
  auto const& below = *(after - 1);
  auto const share = std::log(size / bytes_of(below)) / std::log(bytes_of(*after) / bytes_of(below));
  return below.time * std::pow(after->time / below.time, share);
}

}  // namespace

Predictions predict_by_tuner(CollectiveCase const& one) {
  auto predicted = Predictions{};
  for (auto const& point : one.record().points) predicted.push_back(one.predict_by_tuner(point.size));
  return predicted;
}

TimeLine line_of(CollectiveRecord const& record) {
  // Least squares of (alpha + size / beta) / time - 1: two normal equations.
  auto aa = 0.0;
  auto ab = 0.0;
  auto bb = 0.0;
  auto a = 0.0;
  auto b = 0.0;
  for (auto const& point : record.points) {
    if (point.is_outlier) continue;
    auto const x = 1 / point.time.count();
    auto const y = bytes_of(point) / point.time.count();
    aa += x * x;
    ab += x * y;
    bb += y * y;
    a += x;
    b += y;
  }
  auto const determinant = aa * bb - ab * ab;
  auto const is_line = determinant > 1e-12 * aa * bb;
  auto alpha = is_line ? (a * bb - b * ab) / determinant : 0.0;
  auto per_byte = is_line ? (b * aa - a * ab) / determinant : b / bb;
  if (alpha < 0) {
    alpha = 0;
    per_byte = b / bb;
  }
  return {alpha, per_byte};
}

Predictions fit_own_line(CollectiveRecord const& record) {
  auto const line = line_of(record);
  auto predicted = Predictions{};
  for (auto const& point : record.points) predicted.emplace_back(line.at(point.size));
  return predicted;
}

Predictions copy_curve(CollectiveRecord const& record, CollectiveRecord const& other) {
  auto const scale = factor_of(record) / factor_of(other);
  auto predicted = Predictions(record.points.size());
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (auto const time = time_at(other, bytes_of(record.points[i]))) predicted[i] = *time * scale;
  return predicted;
}

Predictions copy_nearest(CollectiveCase const& one, std::span<CollectiveCase const> all) {
  auto const& record = one.record();
  CollectiveCase const* nearest = nullptr;
  for (auto const& other : all) {
    if (other.record().system == record.system || other.record().kind != record.kind) continue;
    if (!other.record().is_healthy() || other.record().points.empty()) continue;
    if (nearest == nullptr || distance(one, other) < distance(one, *nearest)) nearest = &other;
  }
  return nearest == nullptr ? Predictions(record.points.size()) : copy_curve(record, nearest->record());
}

}  // namespace twinstep::validate
