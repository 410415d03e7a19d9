#include "validate/records/kineto.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::records {
namespace {

using namespace timeline;

Duration duration(Nanoseconds nanoseconds) {
  return Duration{nanoseconds} * 1000;
}

/// The events of one step of one process.
struct StepEvents {
  KinetoTrace const* trace = nullptr;
  std::vector<KinetoEvent const*> device;
  std::vector<KinetoEvent const*> host;
  Nanoseconds begin = 0;
};

constexpr auto kWhole = KinetoStep{std::numeric_limits<Nanoseconds>::min(), std::numeric_limits<Nanoseconds>::max()};

/// When the device ended what the host launched within `step`; 0 without such work.
Nanoseconds device_end(KinetoTrace const& trace, KinetoStep step) {
  auto end = Nanoseconds{0};
  for (auto const& event : trace.device)
    if (auto const launch = trace.launch_of(event); launch >= step.start && launch < step.end)
      end = std::max(end, event.end);
  return end;
}

/// From one step to the next, by the host's clock and by the ends of the device's work, whichever is longer. Where the
/// host runs ahead, what it launches first waits for steps before: that is no time of this step.
Nanoseconds period_of(KinetoTrace const& trace, std::int64_t number) {
  auto const found = trace.steps.find(number);
  auto const end = device_end(trace, found->second);
  auto period = found->second.end - found->second.start;
  auto const compare = [&](KinetoStep neighbour) {
    if (auto const other = device_end(trace, neighbour); other > 0) period = std::max(period, std::abs(end - other));
  };
  if (found != trace.steps.begin())
    compare(std::prev(found)->second);
  else if (auto const next = std::next(found); next != trace.steps.end())
    compare(next->second);
  return period;
}

/// What the host launched and began within `step`.
StepEvents events_in(KinetoTrace const& trace, KinetoStep step) {
  auto events = StepEvents{};
  events.trace = &trace;
  auto last_before = step.start;
  auto first = std::numeric_limits<Nanoseconds>::max();
  for (auto const& event : trace.device) {
    auto const launch = trace.launch_of(event);
    if (launch < step.start) last_before = std::max(last_before, event.end);
    if (launch < step.start || launch >= step.end) continue;
    events.device.push_back(&event);
    first = std::min(first, event.start);
  }
  for (auto const& event : trace.host) {
    if (event.start < step.start || event.start >= step.end) continue;
    events.host.push_back(&event);
    if (events.device.empty() || step.start == kWhole.start) first = std::min(first, event.start);
  }
  events.begin = step.start == kWhole.start ? first : std::min(last_before, first);
  return events;
}

class TimelineBuilder {
 public:
  explicit TimelineBuilder(std::vector<StepEvents> const& ranks) : ranks_{ranks} {
    origin_ = std::numeric_limits<Nanoseconds>::max();
    for (auto const& rank : ranks) origin_ = std::min(origin_, rank.begin);
  }

  Timeline build() && {
    for (auto const& rank : ranks_) add_process(rank);
    for (auto const& span : timeline_.spans) timeline_.step_time = std::max(timeline_.step_time, span.end);
    timeline_.events = static_cast<std::int64_t>(timeline_.spans.size());
    return std::move(timeline_);
  }

 private:
  /// A process drives one GPU, usually; with several, each is a rank of its own.
  void add_process(StepEvents const& events) {
    auto devices = std::set<std::int64_t>{};
    for (auto const* const event : events.device) devices.insert(event->row.process);
    if (devices.empty()) return add_track(events, std::nullopt, next_rank(events, 0));
    for (auto const device : devices)
      add_track(events, device, next_rank(events, devices.size() > 1 ? device - *devices.begin() : 0));
  }

  RankId next_rank(StepEvents const& events, std::int64_t offset) {
    auto const rank =
        events.trace->rank ? *events.trace->rank + offset : static_cast<std::int64_t>(timeline_.tracks.size());
    if (!ranks_seen_.insert(rank).second)
      throw InputError{
          fmt::format("{}: found rank {} a second time, expected a trace of another rank; give each rank's "
                      "once",
                      events.trace->file, rank)};
    return RankId{static_cast<std::size_t>(rank)};
  }

  /// The host's threads stand with the first GPU of their process.
  void add_track(StepEvents const& events, std::optional<std::int64_t> device, RankId rank) {
    auto const id = TrackId{timeline_.tracks.size()};
    auto rows = std::map<std::tuple<bool, KinetoRow>, StreamId>{};
    auto chosen = std::vector<KinetoEvent const*>{};
    for (auto const* const event : events.device)
      if (event->row.process == device) chosen.push_back(event);
    auto const has_host = hosts_shown_.insert(events.trace).second;
    if (has_host) chosen.insert(chosen.end(), events.host.begin(), events.host.end());
    std::erase_if(chosen, [&](KinetoEvent const* event) { return event->end < origin_; });
    for (auto const* const event : chosen) rows[{is_host(*event), event->row}];
    auto track = Track{"measured", rank, 1, {}};
    for (auto& [key, stream] : rows) {
      auto const& [host, row] = key;
      stream = StreamId{track.streams.size()};
      track.streams.push_back(fmt::format("{} {}", host ? "host thread" : "stream", row.thread));
    }
    timeline_.tracks.push_back(std::move(track));
    add_spans(id, *events.trace, chosen, rows);
  }

  static bool is_host(KinetoEvent const& event) { return event.kind == program::WorkKind::kHost; }

  void add_spans(TrackId id, KinetoTrace const& trace, std::vector<KinetoEvent const*>& events,
                 std::map<std::tuple<bool, KinetoRow>, StreamId> const& rows) {
    std::ranges::stable_sort(events, {}, [&](KinetoEvent const* event) { return trace.launch_of(*event); });
    auto operation = std::size_t{0};
    for (auto const* const event : events) {
      auto const start = at(event->start);
      timeline_.spans.push_back({.track = id,
                                 .stream = rows.at({is_host(*event), event->row}),
                                 .op = OpId{operation++},
                                 .name = name(event->name),
                                 .scope = {},
                                 .kind = event->kind,
                                 .bytes = event->bytes,
                                 .issue = std::min(start, at(trace.launch_of(*event))),
                                 .arrive = start,
                                 .start = start,
                                 .end = at(event->end)});
    }
  }

  /// What lies before the step is shown at its beginning.
  [[nodiscard]] Time at(Nanoseconds moment) const { return duration(std::max<Nanoseconds>(0, moment - origin_)); }

  NameId name(std::string const& text) {
    auto const [entry, is_new] = names_.try_emplace(text, timeline_.names.size());
    if (is_new) timeline_.names.push_back(text);
    return entry->second;
  }

  std::vector<StepEvents> const& ranks_;
  Nanoseconds origin_ = 0;
  Timeline timeline_;
  std::map<std::string, NameId> names_;
  std::set<std::int64_t> ranks_seen_;
  std::set<KinetoTrace const*> hosts_shown_;
};

/// The number of the step of median length; of two, the shorter.
std::optional<std::int64_t> median_step(std::vector<KinetoStepTimes> steps) {
  if (steps.empty()) return std::nullopt;
  std::ranges::stable_sort(steps, {}, &KinetoStepTimes::longest);
  return steps[(steps.size() - 1) / 2].number;
}

KinetoStep step_of(KinetoTrace const& trace, std::optional<std::int64_t> number) {
  if (!number) return kWhole;
  if (auto const found = trace.steps.find(*number); found != trace.steps.end()) return found->second;
  auto numbers = std::vector<std::int64_t>{};
  for (auto const& [each, step] : trace.steps) numbers.push_back(each);
  throw InputError{
      fmt::format("{}: found no ProfilerStep#{}, expected one of {}; call profiler.step() after each step, "
                  "or name another",
                  trace.file, *number, numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, ", ")))};
}

}  // namespace

std::vector<KinetoStepTimes> steps_of(std::vector<KinetoTrace> const& traces) {
  auto result = std::vector<KinetoStepTimes>{};
  if (traces.empty()) return result;
  for (auto const& [number, first] : traces.front().steps) {
    auto times = KinetoStepTimes{number, duration(first.end - first.start), duration(first.end - first.start)};
    auto const has_it = [&](KinetoTrace const& trace) {
      auto const found = trace.steps.find(number);
      if (found == trace.steps.end()) return false;
      auto const length = duration(found->second.end - found->second.start);
      times.shortest = std::min(times.shortest, length);
      times.longest = std::max(times.longest, length);
      return true;
    };
    if (std::ranges::all_of(traces, has_it)) result.push_back(times);
  }
  return result;
}

Timeline kineto_timeline(std::vector<KinetoTrace> const& traces, std::optional<std::int64_t> number) try {
  if (!number) number = median_step(steps_of(traces));
  auto ranks = std::vector<StepEvents>{};
  for (auto const& trace : traces) {
    auto const step = step_of(trace, number);
    auto& rank = ranks.emplace_back(events_in(trace, step));
    if (auto const end = device_end(trace, step); number && end > 0)
      rank.begin = std::max(rank.begin, end - period_of(trace, *number));
  }
  auto result = TimelineBuilder{ranks}.build();
  auto& manifest = result.manifest;
  manifest.clock = Clock::kReal;
  manifest.scenario =
      number ? fmt::format("measured by torch.profiler, step {}", *number) : "measured by torch.profiler";
  manifest.calibration = "measured";
  manifest.world_size =
      std::max<std::int64_t>(traces.front().world_size.value_or(0), static_cast<std::int64_t>(result.tracks.size()));
  manifest.memory_capacity = traces.front().device_memory;
  return result;
} catch (BeyondRange const&) {
  throw InputError{
      fmt::format("{}: found times that lie more than 106 days apart, expected traces of one run; correct "
                  "\"baseTimeNanoseconds\", or give traces of one run",
                  traces.front().file)};
}

}  // namespace twinstep::records
