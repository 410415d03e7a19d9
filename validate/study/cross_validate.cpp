#include <map>

#include "explore/ask/parallel.hpp"
#include "validate/study/study.hpp"

namespace twinstep::study {
namespace {

using validate::CollectiveRecord;
using validate::HeldOut;
using validate::MakeCase;

/// One way of leaving something out, over all records of a study, and its baseline.
struct Way {
  Predictor calibrated;
  Predictor baseline;
  std::vector<bool> counted;
};

Way empty_way(std::string name, std::string baseline, Study const& study) {
  auto way = Way{{std::move(name), {}, {}}, {std::move(baseline), {}, {}}, std::vector<bool>(study.records.size())};
  for (auto const& record : study.records) {
    way.calibrated.predictions.emplace_back(record.points.size());
    way.calibrated.intervals.emplace_back(record.points.size());
    way.baseline.predictions.emplace_back(record.points.size());
  }
  return way;
}

void put(Way& way, std::vector<std::size_t> const& places, HeldOut held_out) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    way.calibrated.predictions[places[i]] = std::move(held_out.predicted[i]);
    way.calibrated.intervals[places[i]] = std::move(held_out.intervals[i]);
    way.baseline.predictions[places[i]] = std::move(held_out.baseline[i]);
  }
}

bool is_full(CollectiveRecord const& record) {
  using namespace literals;
  return record.points.size() >= 20 && record.points.front().size <= 64_KiB && record.points.back().size >= 64_MiB;
}

/// The healthy records by system: a calibration takes those of one.
std::vector<std::vector<std::size_t>> systems_of(Study const& study) {
  auto places = std::map<std::string, std::vector<std::size_t>>{};
  for (std::size_t i = 0; i < study.records.size(); ++i)
    if (study.records[i].is_healthy()) places[study.records[i].system].push_back(i);
  auto systems = std::vector<std::vector<std::size_t>>{};
  for (auto& [name, its] : places) systems.push_back(std::move(its));
  return systems;
}

std::vector<CollectiveRecord> at(std::vector<std::size_t> const& places, std::vector<CollectiveRecord> const& records) {
  auto result = std::vector<CollectiveRecord>{};
  for (auto const place : places) result.push_back(records[place]);
  return result;
}

}  // namespace

std::vector<reports::PredictorAccuracy> cross_validate(Study const& study,
                                                       std::optional<hardware::Cluster> const& named, Counted counted) {
  using Hold = HeldOut (*)(std::vector<CollectiveRecord> const&, MakeCase const&);
  struct Kind {
    char const* name;
    char const* baseline;
    Hold hold;
    bool only_full;
  };
  constexpr auto kKinds = std::to_array<Kind>(
      {{"calibrated: same points", "  a line through them", validate::predict_in_sample, true},
       {"calibrated: other sizes", "  a line through half of them", validate::hold_out_sizes, true},
       {"calibrated: other sweeps", "  the profile as it was", validate::hold_out_sweeps, false},
       {"2 numbers from 5 points", "  a line through the five", validate::hold_out_all_but_five, true}});
  auto const systems = systems_of(study);
  auto const make = case_maker(named);
  auto ways = std::vector<Way>{};
  for (auto const& kind : kKinds) {
    auto& way = ways.emplace_back(empty_way(kind.name, kind.baseline, study));
    for (std::size_t i = 0; i < study.records.size(); ++i)
      way.counted[i] =
          study.records[i].is_healthy() && (counted == Counted::kAll || !kind.only_full || is_full(study.records[i]));
  }
  explore::for_each_index(systems.size(), [&](std::size_t s) {
    auto const records = at(systems[s], study.records);
    for (std::size_t k = 0; k < kKinds.size(); ++k) put(ways[k], systems[s], kKinds[k].hold(records, make));
  });
  auto& twins = ways.emplace_back(empty_way("calibrated: a twin's points", "  the twin's curve", study));
  auto healthy = std::vector<std::size_t>{};
  for (auto const& system : systems) healthy.insert(healthy.end(), system.begin(), system.end());
  put(twins, healthy, validate::predict_by_twins(at(healthy, study.records), make));
  twins.counted.assign(study.records.size(), true);
  auto result = std::vector<reports::PredictorAccuracy>{};
  for (auto const& way : ways) {
    result.push_back(accuracy_of(way.calibrated, study, way.counted));
    result.push_back(accuracy_of(way.baseline, study, way.counted));
  }
  return result;
}

}  // namespace twinstep::study
