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

TEST_CASE("what the allocator holds beyond what is allocated counts as reserved only", "[reports][memory]") {
  // Allocated: 10 from the start, 14 from 2 us on. Reserved: 18 until 2 us, when 3 of the 8 free ones and a new one
  // hold the 4; 17 from 3 us on, when the cache is given back.
  auto builder = tests::TimelineBuilder{};
  builder.memory(0_us, MemoryCategory::kParameters, 10_GiB)
      .memory(0_us, MemoryCategory::kFragmentation, 8_GiB)
      .memory(2_us, MemoryCategory::kFragmentation, -3_GiB)
      .memory(2_us, MemoryCategory::kActivations, 4_GiB)
      .memory(3_us, MemoryCategory::kFragmentation, -2_GiB);
  auto const allocated = find_peak(builder.timeline(), TrackId{0}, MemorySpace::kDevice);
  CHECK(allocated.total() == 14_GiB);
  CHECK(held(allocated.held, MemoryCategory::kFragmentation) == 0_B);
  auto const reserved = find_peak(builder.timeline(), TrackId{0}, MemorySpace::kDevice, Counting::kReserved);
  CHECK(reserved.total() == 19_GiB);
  CHECK(reserved.time == 2_us);
  CHECK(held(reserved.held, MemoryCategory::kFragmentation) == 5_GiB);
}

TEST_CASE("of moments at which as much is reserved, the one at which most is allocated is the peak",
          "[reports][memory]") {
  // 8 are reserved all the time; of them 3 are allocated from 2 us on and 5 from 4 us until 6 us.
  auto builder = tests::TimelineBuilder{};
  builder.memory(0_us, MemoryCategory::kFragmentation, 8_GiB)
      .memory(2_us, MemoryCategory::kFragmentation, -3_GiB)
      .memory(2_us, MemoryCategory::kActivations, 3_GiB)
      .memory(4_us, MemoryCategory::kFragmentation, -2_GiB)
      .memory(4_us, MemoryCategory::kActivations, 2_GiB)
      .memory(6_us, MemoryCategory::kActivations, -2_GiB)
      .memory(6_us, MemoryCategory::kFragmentation, 2_GiB);
  auto const peak = find_peak(builder.timeline(), TrackId{0}, MemorySpace::kDevice, Counting::kReserved);
  CHECK(peak.total() == 8_GiB);
  CHECK(peak.time == 4_us);
  CHECK(held(peak.held, MemoryCategory::kFragmentation) == 3_GiB);
}

TEST_CASE("both candidates for the peak are seen: in the loss, and in backward without it", "[reports][memory]") {
  // Issued: forward at 1, the loss's backward at 3, a block's recomputation at 5 and its backward at 6, the update
  // at 8. Held: 10 and 2 of logits at 2; 15 at 4, with logits; 9 at 5; 11 at 7; 20 at 9, in no pass.
  auto builder = tests::TimelineBuilder{};
  auto const issue = [&](std::string_view unit, program::Pass pass, std::string_view name, Time at) {
    builder.scope(unit, pass).compute(WorkKind::kGemm, name, {at, at + 1_us});
  };
  using enum program::Pass;
  issue("head", kForward, "logits", 1_us);
  issue("head", kBackward, "cross_entropy", 3_us);
  issue("layer.0", kRecompute, "up", 5_us);
  issue("layer.0", kBackward, "down", 6_us);
  issue("", kNone, "update", 8_us);
  builder.memory(1_us, MemoryCategory::kActivations, 10_GiB)
      .memory(2_us, MemoryCategory::kLogits, 2_GiB)
      .memory(4_us, MemoryCategory::kLogits, 3_GiB)
      .memory(5_us, MemoryCategory::kLogits, -5_GiB)
      .memory(5_us, MemoryCategory::kActivations, -1_GiB)
      .memory(7_us, MemoryCategory::kGradients, 2_GiB)
      .memory(9_us, MemoryCategory::kWorkspace, 9_GiB);
  auto const [loss, backward] = find_peak_candidates(builder.timeline(), TrackId{0});
  REQUIRE(loss);
  CHECK(loss->total() == 15_GiB);
  CHECK(loss->at == "head.backward/cross_entropy");
  REQUIRE(backward);
  CHECK(backward->total() == 11_GiB);
  CHECK(backward->at == "layer.0.backward/down");
  CHECK(find_peak(builder.timeline(), TrackId{0}, MemorySpace::kDevice).at == "update");
}

TEST_CASE("a step without logits or passes has no candidates", "[reports][memory]") {
  auto builder = tests::TimelineBuilder{};
  builder.compute(WorkKind::kGemm, "up", {0_us, 1_us}).memory(0_us, MemoryCategory::kParameters, 1_GiB);
  auto const candidates = find_peak_candidates(builder.timeline(), TrackId{0});
  CHECK_FALSE(candidates.loss);
  CHECK_FALSE(candidates.backward);
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

TEST_CASE("a memory curve has a point for each moment of change, and one for what was held within it",
          "[reports][memory]") {
  auto builder = tests::TimelineBuilder{};
  builder.memory(0_us, MemoryCategory::kParameters, 1_GiB)
      .memory(2_us, MemoryCategory::kActivations, 4_GiB)
      .memory(2_us, MemoryCategory::kActivations, -1_GiB)
      .memory(2_us, MemoryCategory::kOptimizer, 9_GiB, MemorySpace::kHost)
      .memory(3_us, MemoryCategory::kActivations, -3_GiB);
  auto const curve = memory_curve(builder.timeline(), TrackId{0}, MemorySpace::kDevice);
  REQUIRE(curve.size() == 4);
  CHECK(total(curve[0].held) == 1_GiB);
  CHECK(curve[1].time == 2_us);
  CHECK(held(curve[1].held, MemoryCategory::kActivations) == 4_GiB);
  CHECK(curve[2].time == 2_us);
  CHECK(held(curve[2].held, MemoryCategory::kActivations) == 3_GiB);
  CHECK(total(curve[3].held) == 1_GiB);
}
