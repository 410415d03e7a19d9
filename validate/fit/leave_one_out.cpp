#include "validate/fit/leave_one_out.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "validate/fit/system_calibration.hpp"

namespace twinstep::validate {
namespace {

std::vector<std::string> systems_of(std::vector<CollectiveRecord> const& records) {
  auto systems = std::vector<std::string>{};
  for (auto const& record : records) systems.push_back(record.system);
  std::ranges::sort(systems);
  auto const rest = std::ranges::unique(systems);
  systems.erase(rest.begin(), rest.end());
  return systems;
}

}  // namespace

LeftOutPredictions predict_left_out(std::vector<CollectiveRecord> const& records,
                                    std::function<CollectiveCase(CollectiveRecord const&)> const& make, int jobs,
                                    std::vector<LeftOut>* left_out) {
  auto const systems = systems_of(records);
  auto const nothing = std::vector<Predictions>(records.size());
  auto result = LeftOutPredictions{nothing, nothing, nothing};
  auto found = std::vector<LeftOut>(systems.size());
  auto next = std::atomic<std::size_t>{0};
  auto const work = [&] {
    auto cases = std::vector<CollectiveCase>{};  // a thread's own: a fit changes their constants
    for (auto const& record : records) cases.push_back(make(record));
    for (auto s = next++; s < systems.size(); s = next++) {
      auto seen = std::vector<CollectiveCase*>{};
      for (auto& one : cases)
        if (one.record().system != systems[s] && one.is_fitted()) seen.push_back(&one);
      found[s] = {systems[s], fit_constants(seen)};
      auto own = std::vector<CollectiveCase*>{};
      auto places = std::vector<std::size_t>{};
      for (std::size_t i = 0; i < records.size(); ++i) {
        if (records[i].system != systems[s]) continue;
        apply_constants(found[s].fitted, cases[i]);
        for (auto const& point : records[i].points) result.predicted[i].emplace_back(cases[i].predict(point.size).time);
        own.push_back(&cases[i]);
        places.push_back(i);
      }
      auto calibrated = calibrate_system(own);
      for (std::size_t i = 0; i < places.size(); ++i) {
        result.calibrated[places[i]] = std::move(calibrated[i]);
        apply_constants(found[s].fitted, *own[i]);
        result.by_five[places[i]] = calibrate_by_five(*own[i]);
      }
    }
  };
  auto threads = std::vector<std::jthread>{};
  for (auto i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  if (left_out != nullptr) *left_out = std::move(found);
  return result;
}

}  // namespace twinstep::validate
