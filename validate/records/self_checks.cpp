#include "validate/records/self_checks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "validate/records/bandwidth_checks.hpp"
#include "validate/records/machine_check.hpp"

namespace twinstep::validate {
namespace {

using namespace literals;

constexpr double kFall = 0.8;       ///< of the time of the size before: more than noise between neighbours
constexpr double kWarmUp = 1.5;     ///< times the second time
constexpr double kFlat = 1.1;       ///< times the shortest time
constexpr double kInPlace = 1.25;   ///< in place over out of place, or its inverse: a gather in place saves a copy
constexpr double kAgreement = 1.2;  ///< bus bandwidths of collectives that should agree
constexpr auto kLarge = 256_MiB;    ///< where latency no longer counts

std::string time_text(Seconds time) {
  return fmt::format("{:.5g} us", time.count() * 1e6);
}

void check_sizes(CollectiveRecord const& record, std::vector<std::string>& found) {
  auto seen = std::set<Bytes>{};
  auto twice = std::vector<std::string>{};
  for (auto const& point : record.points)
    if (!seen.insert(point.size).second) twice.push_back(size_text(point.size));
  if (!twice.empty())
    found.push_back(fmt::format("lists {} size{} twice, first {}: keep one row of each, or separate the runs",
                                twice.size(), twice.size() == 1 ? "" : "s", twice.front()));
  auto const points = believed(record);
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].size < points[i - 1].size)
      return found.push_back(
          fmt::format("goes from {} back to {}: two sweeps seem mixed; give each a record of its own",
                      size_text(points[i - 1].size), size_text(points[i].size)));
}

/// Falls beyond noise. The first point is check_warm_up's.
void check_growth(std::vector<MeasuredPoint> const& points, std::vector<std::string>& found) {
  auto falls = std::vector<std::string>{};
  for (std::size_t i = 2; i < points.size(); ++i)
    if (points[i].size > points[i - 1].size && points[i].time.count() < kFall * points[i - 1].time.count())
      falls.push_back(fmt::format("{} at {} to {} at {}", time_text(points[i - 1].time), size_text(points[i - 1].size),
                                  time_text(points[i].time), size_text(points[i].size)));
  if (!falls.empty())
    found.push_back(
        fmt::format("takes less time for more bytes: {}; measure again, or name the slow ones in "
                    "\"outlier_sizes\"",
                    fmt::join(falls, ", ")));
}

/// A sweep up to large sizes whose times are all alike measured something else: a launch, or a collective that failed.
void check_flat(std::vector<MeasuredPoint> const& points, std::vector<std::string>& found) {
  constexpr std::int64_t kSpread = 1024;
  auto const is_wide = points.size() > 2 && points.back().size >= 64_MiB &&
                       points.back().size.count() / std::max<std::int64_t>(1, points.front().size.count()) >= kSpread;
  if (!is_wide) return;
  auto const [least, most] = std::ranges::minmax(points, {}, &MeasuredPoint::time);
  if (most.time.count() < kFlat * least.time.count())
    found.push_back(
        fmt::format("takes {} at {} and {} at {}: time does not grow with size, so the data did not move or "
                    "the host's time was taken; measure the GPU's",
                    time_text(points.front().time), size_text(points.front().size), time_text(points.back().time),
                    size_text(points.back().size)));
}

void check_warm_up(std::vector<MeasuredPoint> const& points, std::vector<std::string>& found) {
  if (points.size() < 3 || points[1].size < points[0].size) return;
  if (points[0].time.count() > kWarmUp * points[1].time.count())
    found.push_back(fmt::format(
        "begins with {} at {}, then {} at {}: the first size lacks its warm-up; run with -w 5 "
        "or more, and leave it out",
        time_text(points[0].time), size_text(points[0].size), time_text(points[1].time), size_text(points[1].size)));
}

/// The median over sizes from 1 MiB on: below, both halves are latency and noise.
void check_in_place(std::vector<MeasuredPoint> const& points, std::vector<std::string>& found) {
  auto logs = std::vector<double>{};
  for (auto const& point : points)
    if (point.in_place && point.in_place->count() > 0 && point.size >= 1_MiB)
      logs.push_back(std::log(*point.in_place / point.time));
  if (logs.empty()) return;
  std::ranges::nth_element(logs, logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2));
  auto const factor = std::exp(logs[logs.size() / 2]);
  if (factor < kInPlace && factor > 1 / kInPlace) return;
  found.push_back(
      fmt::format("takes in place {:.2f} times as long as out of place (median from 1 MiB on): the halves "
                  "ran under different conditions; measure again, and compare only like with like",
                  factor));
}

using Group = std::tuple<std::string, std::int64_t>;  ///< a system, and how many ranks of it

/// For each reduce_scatter and all_gather, the all_reduce of the same ranks that comes nearest: others may be forced to
/// another algorithm.
void check_agreement(std::vector<CollectiveRecord const*> const& group, std::vector<std::string>& sentences) {
  for (auto const* const one : group) {
    if (one->kind != CollectiveKind::kReduceScatter && one->kind != CollectiveKind::kAllGather) continue;
    auto const own = best_bus_bandwidth(*one, kLarge);
    if (!own) continue;
    auto nearest = std::optional<BytesPerSecond>{};
    auto const distance = [&](BytesPerSecond rate) { return std::abs(std::log(rate / *own)); };
    for (auto const* const other : group) {
      if (other->kind != CollectiveKind::kAllReduce) continue;
      auto const rate = best_bus_bandwidth(*other, kLarge);
      if (rate && (!nearest || distance(*rate) < distance(*nearest))) nearest = rate;
    }
    if (!nearest || distance(*nearest) < std::log(kAgreement)) continue;
    sentences.push_back(fmt::format(
        "{}: reaches {:.4g} GB/s of bus bandwidth at large sizes, all_reduce on the same {} ranks {:.4g}: they should "
        "agree, unless the network reduces (NVLS, SHARP); measure both in one job",
        one->id, own->count() / 1e9, one->ranks, nearest->count() / 1e9));
  }
}

}  // namespace

std::vector<std::string> check_records(std::vector<CollectiveRecord> const& records, MachineOf const& machine_of) {
  auto sentences = std::vector<std::string>{};
  auto groups = std::map<Group, std::vector<CollectiveRecord const*>>{};
  for (auto const& record : records) {
    auto found = std::vector<std::string>{};
    auto const points = believed(record);
    check_sizes(record, found);
    check_growth(points, found);
    check_flat(points, found);
    check_warm_up(points, found);
    check_in_place(points, found);
    check_units(record, found);
    check_ranks(record, found);
    if (auto const machine = machine_of ? machine_of(record) : std::nullopt) {
      for (auto& sentence : {other_library(record.library, *machine), other_device(record.device, *machine)})
        if (!sentence.empty()) found.push_back(sentence);
      check_links(record, *machine, found);
    }
    for (auto const& sentence : found) sentences.push_back(fmt::format("{}: {}", record.id, sentence));
    groups[{record.system, record.ranks}].push_back(&record);
  }
  for (auto const& [key, group] : groups) check_agreement(group, sentences);
  return sentences;
}

}  // namespace twinstep::validate
