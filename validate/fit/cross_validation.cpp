#include "validate/fit/cross_validation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "validate/fit/system_calibration.hpp"

namespace twinstep::validate {
namespace {

/// Which points of a record take part in a fit.
using Mask = std::vector<bool>;

HeldOut nothing_for(std::vector<CollectiveRecord> const& records) {
  auto result = HeldOut{};
  for (auto const& record : records) {
    result.predicted.emplace_back(record.points.size());
    result.intervals.emplace_back(record.points.size());
    result.baseline.emplace_back(record.points.size());
  }
  return result;
}

CollectiveRecord only(CollectiveRecord record, Mask const& mask) {
  auto points = std::vector<MeasuredPoint>{};
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) points.push_back(record.points[i]);
  record.points = std::move(points);
  return record;
}

Mask all_of(CollectiveRecord const& record, bool part) {
  return Mask(record.points.size(), part);
}

/// The first, third, fifth … of the different sizes, outliers not counted.
Mask every_other(CollectiveRecord const& record) {
  auto sizes = std::set<Bytes>{};
  for (auto const& point : record.points)
    if (!point.is_outlier) sizes.insert(point.size);
  auto mask = Mask{};
  for (auto const& point : record.points)
    mask.push_back(!point.is_outlier && std::distance(sizes.begin(), sizes.find(point.size)) % 2 == 0);
  return mask;
}

/// Predicts those points of a record that its mask leaves out by a calibration.
void predict_left_out(HeldOut& result, std::size_t record, CollectiveCase& one, Calibration const& calibration,
                      Mask const& mask) {
  apply_calibration(calibration, one.constants());
  auto const& points = one.record().points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (mask[i]) continue;
    auto const time = one.predict(points[i].size).time;
    result.predicted[record][i] = time;
    result.intervals[record][i] = one.interval(points[i].size, time);
  }
}

/// The line through the points that took part, for the others.
void set_line(HeldOut& result, std::size_t place, CollectiveRecord const& record, Mask const& mask) {
  auto const part = only(record, mask);
  if (part.points.empty()) return;
  auto const line = line_of(part);
  for (std::size_t p = 0; p < mask.size(); ++p)
    if (!mask[p]) result.baseline[place][p] = line.at(record.points[p].size);
}

using SweepKey = std::tuple<MeasuredKind, std::int64_t, std::int64_t>;
SweepKey key_of(CollectiveCase const& one) {
  return {one.record().kind, one.record().ranks, one.layout().nodes()};
}

bool forces_the_same(CollectiveRecord const& a, CollectiveRecord const& b) {
  return std::ranges::all_of(std::initializer_list<char const*>{"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE"},
                             [&](char const* name) {
                               auto const of = [&](CollectiveRecord const& its) {
                                 auto const found = its.environment.find(name);
                                 return found == its.environment.end() ? std::string{} : found->second;
                               };
                               return of(a) == of(b);
                             });
}

bool are_twins(CollectiveCase const& a, CollectiveCase const& b) {
  auto const& one = a.cluster();
  auto const& other = b.cluster();
  return a.record().system != b.record().system && key_of(a) == key_of(b) &&
         one.node().gpu.name == other.node().gpu.name && one.node().link.name == other.node().link.name &&
         one.fabric.transport.name == other.fabric.transport.name && one.node().nics == other.node().nics &&
         one.node().nic.value == other.node().nic.value && one.library.name == other.library.name &&
         forces_the_same(a.record(), b.record());
}

}  // namespace

HeldOut predict_in_sample(std::vector<CollectiveRecord> const& records, MakeCase const& make) {
  auto result = nothing_for(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto one = make(records[i]);
    predict_left_out(result, i, one, calibrate({records[i]}, make, Depth::kCorrections), all_of(records[i], false));
    result.baseline[i] = fit_own_line(records[i]);
  }
  return result;
}

HeldOut hold_out_sizes(std::vector<CollectiveRecord> const& records, MakeCase const& make) {
  auto result = nothing_for(records);
  auto parts = std::vector<CollectiveRecord>{};
  for (auto const& record : records) parts.push_back(only(record, every_other(record)));
  auto const calibration = calibrate(parts, make, Depth::kCorrections);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (parts[i].points.empty()) continue;
    auto const mask = every_other(records[i]);
    auto one = make(records[i]);
    predict_left_out(result, i, one, calibration, mask);
    set_line(result, i, records[i], mask);
  }
  return result;
}

HeldOut hold_out_sweeps(std::vector<CollectiveRecord> const& records, MakeCase const& make) {
  auto result = nothing_for(records);
  auto groups = std::map<SweepKey, std::vector<std::size_t>>{};
  for (std::size_t i = 0; i < records.size(); ++i) groups[key_of(make(records[i]))].push_back(i);
  if (groups.size() < 2) return result;
  for (auto const& [key, held_out] : groups) {
    auto others = std::vector<CollectiveRecord>{};
    for (std::size_t i = 0; i < records.size(); ++i)
      if (std::ranges::find(held_out, i) == held_out.end()) others.push_back(records[i]);
    auto const calibration = calibrate(others, make, Depth::kCorrections);
    for (auto const i : held_out) {
      auto one = make(records[i]);
      for (auto const& point : records[i].points)
        result.baseline[i][static_cast<std::size_t>(&point - records[i].points.data())] = one.predict(point.size).time;
      predict_left_out(result, i, one, calibration, all_of(records[i], false));
    }
  }
  return result;
}

HeldOut predict_by_twins(std::vector<CollectiveRecord> const& records, MakeCase const& make) {
  auto result = nothing_for(records);
  auto cases = std::vector<CollectiveCase>{};
  for (auto const& record : records) cases.push_back(make(record));
  auto calibrations = std::map<std::size_t, Calibration>{};
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto twin = std::optional<std::size_t>{};
    for (std::size_t j = 0; j < records.size(); ++j)
      if (are_twins(cases[i], cases[j]) && (!twin || records[j].points.size() > records[*twin].points.size())) twin = j;
    if (!twin) continue;
    if (!calibrations.contains(*twin)) calibrations[*twin] = calibrate({records[*twin]}, make, Depth::kCorrections);
    auto one = make(records[i]);
    predict_left_out(result, i, one, calibrations[*twin], all_of(records[i], false));
    result.baseline[i] = copy_curve(records[i], records[*twin]);
  }
  return result;
}

HeldOut hold_out_all_but_five(std::vector<CollectiveRecord> const& records, MakeCase const& make) {
  auto result = nothing_for(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto one = make(records[i]);
    result.predicted[i] = calibrate_by_five(one);
    auto mask = all_of(records[i], false);
    for (auto const place : five_points(records[i])) mask[place] = true;
    set_line(result, i, records[i], mask);
  }
  return result;
}

}  // namespace twinstep::validate
