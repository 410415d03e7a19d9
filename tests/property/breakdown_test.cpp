#include "reports/breakdown.hpp"

#include <random>

#include "reports/intervals.hpp"
#include "reports/summary.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/timelines.hpp"

using namespace twinstep;
using namespace twinstep::reports;
using program::WorkKind;
using timeline::TrackId;

namespace {

/// Spans of any kind at any time, so also overlapping ones on a stream: what reads timelines must not mind.
timeline::Timeline random_timeline(std::mt19937& random) {
  auto builder = tests::TimelineBuilder{};
  auto const some = [&](unsigned below) { return Duration{static_cast<std::int64_t>(random() % below)}; };
  auto const span_count = random() % 24;
  for (unsigned i = 0; i < span_count; ++i) {
    auto const kind = static_cast<WorkKind>(random() % kEnumSize<WorkKind>);
    auto const issue = some(100);
    auto const arrive = issue + some(10);
    auto const start = arrive + some(10);
    builder.add(kind, "work", issue, arrive, start, start + some(20));
  }
  return builder.timeline();
}

Duration total(std::vector<BreakdownEntry> const& entries) {
  auto sum = Duration{};
  for (auto const& entry : entries) sum += entry.time;
  return sum;
}

}  // namespace

TEST_CASE("on any timeline the breakdown adds up to the step time exactly", "[reports][property]") {
  auto random = std::mt19937{7};
  for (auto i = 0; i < 500; ++i) {
    auto const timeline = random_timeline(random);
    CAPTURE(i);
    CHECK(total(break_down(timeline, TrackId{0})) == timeline.step_time);
  }
}

TEST_CASE("on any timeline exposed communication is what the breakdown says of transfers and waits",
          "[reports][property]") {
  auto random = std::mt19937{11};
  for (auto i = 0; i < 500; ++i) {
    auto const timeline = random_timeline(random);
    auto exposed = Duration{};
    for (auto const& entry : break_down(timeline, TrackId{0}))
      if (entry.activity == Activity::kTransfer || entry.activity == Activity::kWaitsForRanks ||
          entry.activity == Activity::kWaitsForStages)
        exposed += entry.time;
    CAPTURE(i);
    CHECK(summarize(timeline).exposed_communication == exposed);
  }
}

TEST_CASE("a set is what it shares with another and what it does not", "[reports][property]") {
  // |a or b| = |a - b| + |b|, for the busy times of random timelines.
  auto random = std::mt19937{13};
  for (auto i = 0; i < 500; ++i) {
    auto const timeline = random_timeline(random);
    auto const a = busy(timeline, TrackId{0}, WorkClass::kCompute);
    auto const b = busy(timeline, TrackId{0}, WorkClass::kCommunication);
    CAPTURE(i);
    CHECK(total_length(unite(a, b)) == total_length(subtract(a, b)) + total_length(b));
  }
}
