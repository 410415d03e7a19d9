#include "reports/intervals.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/timelines.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;
using program::WorkKind;
using timeline::TrackId;

namespace {

constexpr Interval between(std::int64_t begin, std::int64_t end) {
  return {Time{begin}, Time{end}};
}

}  // namespace

TEST_CASE("merging joins intervals that overlap or touch and drops empty ones", "[reports][intervals]") {
  CHECK(merged({between(5, 7), between(0, 2), between(2, 3), between(6, 9), between(4, 4)}) ==
        Intervals{between(0, 3), between(5, 9)});
  CHECK(merged({}).empty());
}

TEST_CASE("an interval inside another adds nothing to a union", "[reports][intervals]") {
  CHECK(unite({between(0, 10)}, {between(2, 3), between(9, 12)}) == Intervals{between(0, 12)});
  CHECK(unite({}, {between(2, 3)}) == Intervals{between(2, 3)});
}

TEST_CASE("a difference cuts holes into intervals", "[reports][intervals]") {
  // 0-10 without 2-4 and 6-7 leaves 0-2, 4-6, 7-10; 12-15 without 9-13 leaves 13-15, and 9-10 goes from the first.
  CHECK(subtract({between(0, 10), between(12, 15)}, {between(2, 4), between(6, 7), between(9, 13)}) ==
        Intervals{between(0, 2), between(4, 6), between(7, 9), between(13, 15)});
}

TEST_CASE("a difference with all or nothing", "[reports][intervals]") {
  CHECK(subtract({between(3, 5), between(6, 8)}, {between(0, 10)}).empty());
  CHECK(subtract({between(3, 5)}, {}) == Intervals{between(3, 5)});
  CHECK(subtract({between(3, 5)}, {between(5, 9), between(10, 11)}) == Intervals{between(3, 5)});
}

TEST_CASE("clipping keeps what lies in the window", "[reports][intervals]") {
  CHECK(clip({between(0, 3), between(4, 6), between(8, 9)}, between(2, 5)) == Intervals{between(2, 3), between(4, 5)});
}

TEST_CASE("a communication occupies its stream from the moment its rank is ready", "[reports][intervals]") {
  auto builder = tests::TimelineBuilder{};
  builder.compute(WorkKind::kGemm, "gemm", {0_us, 10_us})
      .communicate(WorkKind::kAllReduce, "sum", 8_us, 12_us, 20_us)
      .add(WorkKind::kCopy, "offload", 0_us, 5_us, 15_us, 18_us);
  auto const& timeline = builder.timeline();
  CHECK(busy(timeline, TrackId{0}, WorkClass::kCompute) == Intervals{{0_us, 10_us}});
  CHECK(busy(timeline, TrackId{0}, WorkClass::kCommunication) == Intervals{{8_us, 20_us}});
  CHECK(busy(timeline, TrackId{0}, WorkClass::kCopy) == Intervals{{15_us, 18_us}});
  CHECK(busy(timeline, TrackId{0}, WorkClass::kHost).empty());
}

TEST_CASE("a track is busy with its own spans only", "[reports][intervals]") {
  auto builder = tests::TimelineBuilder{};
  builder.track("stage_0", 0).compute(WorkKind::kGemm, "gemm", {0_us, 10_us});
  builder.track("stage_1", 4, 4).compute(WorkKind::kGemm, "gemm", {10_us, 30_us});
  auto const& timeline = builder.timeline();
  CHECK(busy(timeline, TrackId{0}, WorkClass::kCompute) == Intervals{{0_us, 10_us}});
  CHECK(busy(timeline, TrackId{1}, WorkClass::kCompute) == Intervals{{10_us, 30_us}});
  CHECK(slowest_track(timeline) == TrackId{1});
  CHECK(describe(timeline.tracks[0]) == "rank 0, stage_0");
  CHECK(describe(timeline.tracks[1]) == "rank 4 (of 4 alike), stage_1");
}
