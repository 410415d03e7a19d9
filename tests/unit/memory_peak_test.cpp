#include "reports/memory.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/timelines.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;
using program::MemoryCategory;
using program::MemorySpace;
using program::WorkKind;
using timeline::TrackId;

namespace {

Bytes held(BytesByCategory const& bytes, MemoryCategory category) {
  return bytes[static_cast<std::size_t>(category)];
}

}  // namespace

TEST_CASE("the peak names its moment, its categories and the operation being issued", "[reports][memory]") {
  // 10 from the start, 14 from 1 us, 19 from 5 us, 15 from 6 us. The host issues "up" at 1 us, "down" at 5 us.
  auto builder = tests::TimelineBuilder{};
  builder.scope("layer.0").add(WorkKind::kGemm, "up", 1_us, 1_us, 2_us, 9_us);
  builder.add(WorkKind::kGemm, "down", 5_us, 9_us, 9_us, 12_us);
  builder.scope("").add(WorkKind::kElementwise, "update", 7_us, 12_us, 12_us, 13_us);
  builder.memory(0_us, MemoryCategory::kParameters, 10_GiB)
      .memory(1_us, MemoryCategory::kActivations, 4_GiB)
      .memory(5_us, MemoryCategory::kGradients, 5_GiB)
      .memory(6_us, MemoryCategory::kActivations, -4_GiB);
  auto const peak = find_peak(builder.timeline(), TrackId{0}, MemorySpace::kDevice);
  CHECK(peak.total() == 19_GiB);
  CHECK(peak.time == 5_us);
  CHECK(held(peak.held, MemoryCategory::kParameters) == 10_GiB);
  CHECK(held(peak.held, MemoryCategory::kActivations) == 4_GiB);
  CHECK(held(peak.held, MemoryCategory::kGradients) == 5_GiB);
  CHECK(peak.at == "layer.0/down");
}

TEST_CASE("memory taken before other memory is given back at the same moment is held together", "[reports][memory]") {
  auto builder = tests::TimelineBuilder{};
  builder.memory(0_us, MemoryCategory::kActivations, 3_GiB)
      .memory(4_us, MemoryCategory::kGradients, 2_GiB)
      .memory(4_us, MemoryCategory::kActivations, -3_GiB);
  CHECK(find_peak(builder.timeline(), TrackId{0}, MemorySpace::kDevice).total() == 5_GiB);
}

TEST_CASE("host and NVMe memory have peaks of their own", "[reports][memory]") {
  auto builder = tests::TimelineBuilder{};
  builder.memory(0_us, MemoryCategory::kParameters, 2_GiB)
      .memory(0_us, MemoryCategory::kOptimizer, 7_GiB, MemorySpace::kHost)
      .memory(1_us, MemoryCategory::kOptimizer, 9_GiB, MemorySpace::kNvme);
  CHECK(find_worst_peak(builder.timeline(), MemorySpace::kDevice).total() == 2_GiB);
  CHECK(find_worst_peak(builder.timeline(), MemorySpace::kHost).total() == 7_GiB);
  CHECK(find_worst_peak(builder.timeline(), MemorySpace::kNvme).total() == 9_GiB);
}

TEST_CASE("the worst peak is that of the track that holds most", "[reports][memory]") {
  auto builder = tests::TimelineBuilder{};
  builder.track("stage_0", 0).memory(0_us, MemoryCategory::kActivations, 8_GiB);
  builder.track("stage_1", 1).memory(3_us, MemoryCategory::kActivations, 9_GiB);
  builder.track("stage_2", 2).memory(2_us, MemoryCategory::kActivations, 9_GiB);
  auto const peak = find_worst_peak(builder.timeline(), MemorySpace::kDevice);
  CHECK(peak.track == TrackId{1});
  CHECK(peak.time == 3_us);
}

TEST_CASE("a memory curve has one point for each moment of change", "[reports][memory]") {
  auto builder = tests::TimelineBuilder{};
  builder.memory(0_us, MemoryCategory::kParameters, 1_GiB)
      .memory(2_us, MemoryCategory::kActivations, 4_GiB)
      .memory(2_us, MemoryCategory::kActivations, -1_GiB)
      .memory(2_us, MemoryCategory::kOptimizer, 9_GiB, MemorySpace::kHost)
      .memory(3_us, MemoryCategory::kActivations, -3_GiB);
  auto const curve = memory_curve(builder.timeline(), TrackId{0}, MemorySpace::kDevice);
  REQUIRE(curve.size() == 3);
  CHECK(total(curve[0].held) == 1_GiB);
  CHECK(curve[1].time == 2_us);
  CHECK(held(curve[1].held, MemoryCategory::kActivations) == 3_GiB);
  CHECK(total(curve[2].held) == 1_GiB);
}
