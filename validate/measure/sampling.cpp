#include "validate/measure/sampling.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "sim/base/check.hpp"

namespace twinstep::measure {
namespace {

constexpr std::size_t kMostBatches = 1000;

Seconds steady_seconds() {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

/// Batches of the same lanes, and what they took.
class Batches {
 public:
  Batches(Executor& executor, std::vector<Lane> lanes)
      : executor_{executor},
        lanes_{std::move(lanes)},
        program_{program_of(lanes_, executor.job().ranks)},
        each_(lanes_.size()),
        issue_(lanes_.size()) {}

  void run() {
    auto const timeline = executor_.run(program_);
    if (!executor_.job().is_first_process) return;
    auto const times = times_of(timeline, lanes_);
    for (std::size_t i = 0; i < times.size(); ++i) {
      each_[i].push_back(times[i].each);
      issue_[i].push_back(times[i].issue);
    }
  }

  [[nodiscard]] bool are_precise(double precision) const {
    return std::ranges::all_of(each_, [&](auto const& times) {
      auto const reached = spread_of(times).precision;
      return reached && *reached <= precision;
    });
  }
  [[nodiscard]] std::size_t count() const { return each_.front().size(); }
  [[nodiscard]] Duration last(std::size_t lane) const { return each_[lane].back(); }
  [[nodiscard]] std::vector<LaneSample> samples() const {
    auto out = std::vector<LaneSample>{};
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      out.push_back({spread_of(each_[i]), spread_of(issue_[i]), lanes_[i].iterations});
    return out;
  }

 private:
  Executor& executor_;
  std::vector<Lane> lanes_;
  program::StepProgram program_;
  std::vector<std::vector<Duration>> each_;
  std::vector<std::vector<Duration>> issue_;
};

/// How often each workload is repeated in a batch: all take as long as `iterations` of the longest, or a tenth of the
/// time that there is.
std::vector<Lane> plan_batch(Executor& executor, std::span<Workload const> workloads, Sampling const& sampling) {
  auto lanes = std::vector<Lane>{};
  for (auto const& work : workloads) lanes.push_back({work, 1, 1});
  auto pilot = Batches{executor, lanes};
  pilot.run();
  auto const is_first = executor.job().is_first_process;
  auto longest = Duration{1};
  if (is_first)
    for (std::size_t i = 0; i < lanes.size(); ++i) longest = std::max(longest, pilot.last(i));
  auto const room = sampling.max_time.count() / 10 / to_seconds(longest).count();
  auto const repetitions = std::clamp(room, 1.0, static_cast<double>(sampling.iterations));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    constexpr auto kMost = 1000.0;
    auto const ratio =
        is_first ? static_cast<double>(longest.count()) / std::max(1.0, static_cast<double>(pilot.last(i).count()))
                 : 1.0;
    auto const wanted = std::clamp(repetitions * ratio, 1.0, std::max(repetitions, kMost));
    lanes[i].iterations = static_cast<int>(told_by_first(executor, static_cast<std::int64_t>(wanted)));
    lanes[i].warm_up = std::min(sampling.warm_up, lanes[i].iterations);
  }
  return lanes;
}

}  // namespace

std::int64_t told_by_first(Executor& executor, std::int64_t value) {
  return executor.sum(executor.job().is_first_process ? value : 0);
}

std::vector<LaneSample> sample(Executor& executor, std::span<Workload const> workloads, Sampling const& sampling) {
  TWINSTEP_CHECK(!workloads.empty() && sampling.iterations > 0, "a point measures something");
  auto const clock = sampling.clock ? sampling.clock : steady_seconds;
  auto const begin = clock();
  auto batches = Batches{executor, plan_batch(executor, workloads, sampling)};
  for (auto goes_on = true; goes_on;) {
    batches.run();
    auto const is_first = executor.job().is_first_process;
    auto const is_done = is_first && (clock() - begin >= sampling.max_time || batches.count() >= kMostBatches ||
                                      batches.are_precise(sampling.precision));
    goes_on = told_by_first(executor, is_done ? 1 : 0) == 0;
  }
  return executor.job().is_first_process ? batches.samples() : std::vector<LaneSample>(workloads.size());
}

std::vector<std::string> find_doubts(Spread const& spread, Sampling const& sampling) {
  constexpr auto kWide = 0.2;
  constexpr auto kDrift = 0.05;
  auto found = std::vector<std::string>{};
  auto const width = static_cast<double>((spread.high - spread.low).count()) /
                     static_cast<double>(std::max<std::int64_t>(spread.median.count(), 1));
  if (width > kWide) found.push_back(fmt::format("10th to 90th percentile span {:.0f} % of the median", width * 100));
  if (spread.drift && std::abs(*spread.drift) > kDrift)
    found.push_back(
        fmt::format("later batches took {:+.0f} %{}", *spread.drift * 100,
                    *spread.drift > 0 ? ": is something throttled, or does the machine do other work?" : ""));
  if (spread.samples > 1 && (!spread.precision || *spread.precision > sampling.precision))
    found.push_back(spread.precision ? fmt::format("the median is known to {:.1f} % only", *spread.precision * 100)
                                     : fmt::format("{} batches are too few to know the median", spread.samples));
  return found;
}

}  // namespace twinstep::measure
