#include "reports/summary.hpp"

#include "sim/base/check.hpp"
#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/steps.hpp"
#include "tests/support/summary_json.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;
using program::MemoryCategory;
using program::WorkKind;
using tests::summary_json;
using timeline::TrackId;

namespace {

std::vector<BreakdownEntry> breakdown_of(tests::TimelineBuilder& builder) {
  return break_down(builder.timeline(), TrackId{0});
}

std::vector<std::string> keys_of(std::string const& json) {
  auto keys = std::vector<std::string>{};
  auto const document = io::parse({"summary.json", json});
  for (auto const& [key, value] : document.members()) keys.emplace_back(key);
  return keys;
}

bool is_null(io::Node const& document, std::string_view key) {
  return document.has(key) && !document.find(key).has_value();
}

}  // namespace

TEST_CASE("the breakdown gives every moment of the step to what the rank does or waits for", "[reports][breakdown]") {
  // Derived beside full_step.
  CHECK(summarize(tests::full_step()).breakdown ==
        std::vector<BreakdownEntry>{{Activity::kCompute, WorkKind::kGemm, 30_ms},
                                    {Activity::kCompute, WorkKind::kAttention, 10_ms},
                                    {Activity::kCompute, WorkKind::kElementwise, 15_ms},
                                    {Activity::kTransfer, WorkKind::kAllGather, 10_ms},
                                    {Activity::kTransfer, WorkKind::kReduceScatter, 10_ms},
                                    {Activity::kWaitsForRanks, {}, 5_ms},
                                    {Activity::kCopy, {}, 5_ms},
                                    {Activity::kWaitsForHost, {}, 11_ms},
                                    {Activity::kIdle, {}, 4_ms}});
}

TEST_CASE("communication that a kernel hides is not exposed", "[reports][breakdown]") {
  auto builder = tests::TimelineBuilder{};
  builder.compute(WorkKind::kGemm, "gemm", {0_us, 10_us}).communicate(WorkKind::kAllReduce, "sum", 2_us, 4_us, 9_us);
  CHECK(breakdown_of(builder) == std::vector<BreakdownEntry>{{Activity::kCompute, WorkKind::kGemm, 10_us}});
  auto const summary = summarize(builder.timeline());
  CHECK(summary.exposed_communication == 0_us);
  CHECK(summary.communication == 7_us);
}

TEST_CASE("a transfer counts before a wait of another communication", "[reports][breakdown]") {
  // 0-4 "early" waits, 4-10 it transfers; "late" waits from 2 to 12 and transfers until 15. Waiting alone: 0-4, 10-12.
  auto builder = tests::TimelineBuilder{};
  builder.communicate(WorkKind::kAllGather, "early", 0_us, 4_us, 10_us)
      .communicate(WorkKind::kAllReduce, "late", 2_us, 12_us, 15_us);
  CHECK(breakdown_of(builder) == std::vector<BreakdownEntry>{{Activity::kTransfer, WorkKind::kAllReduce, 3_us},
                                                             {Activity::kTransfer, WorkKind::kAllGather, 6_us},
                                                             {Activity::kWaitsForRanks, {}, 6_us}});
}

TEST_CASE("a gap waits for the host until the operation that ends it is issued", "[reports][breakdown]") {
  // 0-5 a kernel; the next was issued at 7 and starts at 9: 2 us for the host, 2 us on the way.
  auto builder = tests::TimelineBuilder{};
  builder.compute(WorkKind::kGemm, "first", {0_us, 5_us}).add(WorkKind::kGemm, "second", 7_us, 9_us, 9_us, 12_us);
  CHECK(breakdown_of(builder) == std::vector<BreakdownEntry>{{Activity::kCompute, WorkKind::kGemm, 8_us},
                                                             {Activity::kWaitsForHost, {}, 2_us},
                                                             {Activity::kIdle, {}, 2_us}});
}

TEST_CASE("a gap before an operation that was issued long ago is idle", "[reports][breakdown]") {
  auto builder = tests::TimelineBuilder{};
  builder.compute(WorkKind::kGemm, "first", {0_us, 5_us}).add(WorkKind::kGemm, "second", 1_us, 9_us, 9_us, 12_us);
  CHECK(breakdown_of(builder) ==
        std::vector<BreakdownEntry>{{Activity::kCompute, WorkKind::kGemm, 8_us}, {Activity::kIdle, {}, 4_us}});
}

TEST_CASE("the breakdown is that of the track that ends last", "[reports][summary]") {
  auto builder = tests::TimelineBuilder{};
  builder.track("stage_0", 0).compute(WorkKind::kGemm, "gemm", {0_us, 6_us});
  builder.track("stage_1", 1).compute(WorkKind::kAttention, "core", {0_us, 8_us});
  auto const summary = summarize(builder.timeline());
  CHECK(summary.breakdown == std::vector<BreakdownEntry>{{Activity::kCompute, WorkKind::kAttention, 8_us}});
  CHECK(summary.breakdown_rank == "rank 1, stage_1");
}

TEST_CASE("exposed communication is that of the track that has most of it", "[reports][summary]") {
  // Rank 0 ends last with 1 us exposed; rank 1 waits 5 us.
  auto builder = tests::TimelineBuilder{};
  builder.track("rank", 0)
      .compute(WorkKind::kGemm, "gemm", {0_us, 6_us})
      .communicate(WorkKind::kAllReduce, "sum", 6_us, 6_us, 7_us)
      .compute(WorkKind::kElementwise, "update", {7_us, 9_us});
  builder.track("rank", 1)
      .compute(WorkKind::kGemm, "gemm", {0_us, 2_us})
      .communicate(WorkKind::kAllReduce, "sum", 2_us, 6_us, 7_us);
  CHECK(summarize(builder.timeline()).exposed_communication == 5_us);
}

TEST_CASE("rates and utilisation are per GPU and per second of the step", "[reports][summary]") {
  // 4000 tokens in 0.1 s on two GPUs; 25 TFLOP and 30 TFLOP a rank in 0.1 s, of 1000 TFLOP/s.
  auto const summary = summarize(tests::full_step());
  CHECK(summary.token_rate.count() == Approx(40'000));
  CHECK(summary.token_rate_per_gpu.count() == Approx(20'000));
  CHECK(summary.model_rate_per_gpu.count() == Approx(250e12));
  CHECK(summary.mfu.value() == Approx(0.25));
  CHECK(summary.hfu.value() == Approx(0.30));
}

TEST_CASE("utilisation is unknown where the peak is", "[reports][summary]") {
  auto step = tests::full_step();
  step.manifest.peak = {};
  CHECK_FALSE(summarize(step).mfu.has_value());
  CHECK_FALSE(summarize(step).hfu.has_value());
}

TEST_CASE("links are busy for their bytes over their bandwidth", "[reports][summary]") {
  auto const summary = summarize(tests::full_step());
  REQUIRE(summary.links.size() == 2);
  CHECK(summary.links[0].utilisation == Approx(0.10));
  CHECK(summary.links[1].utilisation == Approx(0.40));
}

TEST_CASE("a step fits if all that is in use is within the capacity, to the byte", "[reports][summary]") {
  // 40 GiB are allocated at the peak, and the allocator holds 2 more that it could not give back.
  auto step = tests::full_step();
  step.manifest.memory_capacity = 42_GiB;
  CHECK(summarize(step).fits);
  CHECK(summarize(step).headroom() == 2_GiB);
  step.manifest.memory_capacity = 42_GiB - 1_B;
  CHECK_FALSE(summarize(step).fits);
  step.manifest.memory_capacity = {};
  CHECK(summarize(step).fits);
}

TEST_CASE("allocated and reserved memory have a peak each", "[reports][summary]") {
  auto const summary = summarize(tests::full_step());
  CHECK(summary.peak.total() == 40_GiB);
  CHECK(summary.reserved_peak.total() == 42_GiB);
  CHECK(summary.allocator == timeline::AllocatorUse{.segments = 7, .retries = 0});
  REQUIRE(summary.candidates.backward);
  CHECK(summary.candidates.backward->total() == 37_GiB);
  CHECK_FALSE(summary.candidates.loss);
}

TEST_CASE("what fragmentation keeps from fitting says so, and what may help", "[reports][summary]") {
  auto step = tests::full_step();
  step.manifest.memory_capacity = 41_GiB;
  CHECK(why_it_does_not_fit(summarize(step)) ==
        "needs 42.0 GiB at layer.0.forward/core (optimizer 20.0 GiB, parameters 10.0 GiB, activations 6.0 GiB, "
        "gathered_parameters 4.0 GiB), has 41.0 GiB; without fragmentation it would fit: try "
        "cluster.allocator.expandable_segments");
}

TEST_CASE("a step that fits by retries warns of them, and one that fills the device above 95 %", "[reports][summary]") {
  auto step = tests::full_step();
  CHECK(memory_warning(summarize(step)).empty());
  step.manifest.memory_capacity = 42_GiB;  // 40 / 42 = 95.2 %
  CHECK_THAT(memory_warning(summarize(step)), Catch::Contains("the peak is 95.2 % of the device's memory"));
  step.tracks[0].allocator->retries = 3;
  CHECK_THAT(memory_warning(summarize(step)), Catch::Contains("asks again 3 times a step") &&
                                                  Catch::Contains("costs time that is not in the step time"));
  step.manifest.memory_capacity = 24_GiB;  // does not fit
  CHECK(memory_warning(summarize(step)).empty());
}

TEST_CASE("a step that does not fit says what it needs, where, and for what", "[reports][summary]") {
  auto step = tests::full_step();
  step.manifest.memory_capacity = 24_GiB;
  CHECK(why_it_does_not_fit(summarize(step)) ==
        "needs 40.0 GiB at layer.0.forward/core (optimizer 20.0 GiB, parameters 10.0 GiB, activations 6.0 GiB, "
        "gathered_parameters 4.0 GiB), has 24.0 GiB");
  CHECK_THROWS_AS(why_it_does_not_fit(summarize(tests::full_step())), InternalError);
}

TEST_CASE("a step that its host cannot hold does not fit", "[reports][summary]") {
  auto summary = summarize(tests::full_step());
  summary.host_peak = 30_GiB;
  hold_against_host(summary, 30_GiB, {});
  CHECK(summary.fits);
  hold_against_host(summary, 29_GiB, {});
  CHECK(why_it_does_not_fit(summary) == "needs 30.0 GiB of host memory a rank, whose share is 29.0 GiB");
  CHECK(shortage_of(summary).needs == 30_GiB);
}

TEST_CASE("a host whose memory is not known holds everything, and the answer says that it is not known",
          "[reports][summary]") {
  auto summary = summarize(tests::full_step());
  summary.host_peak = 30_GiB;
  hold_against_host(summary, {}, {});
  CHECK(summary.fits);
  CHECK(io::parse({"summary.json", summary_json(summary, Seconds{})}).has("host_memory_capacity_bytes"));
}

TEST_CASE("a timeline without spans has a summary of zeros", "[reports][summary]") {
  auto const summary = summarize(timeline::Timeline{});
  CHECK(summary.step_time == 0_us);
  CHECK(summary.token_rate.count() == 0);
  CHECK(summary.breakdown.empty());
  CHECK(summary.fits);
  CHECK_NOTHROW(io::parse({"summary.json", summary_json(summary, Seconds{})}));
}

TEST_CASE("the JSON summary has the keys that scripts rely on", "[reports][summary][json]") {
  auto const document = io::parse({"summary.json", summary_json(summarize(tests::full_step()), Seconds{0.25})});
  CHECK(document.at("feasible").boolean());
  CHECK(document.at("step_time_s").number() == 0.1);
  CHECK(document.at("tokens_per_s").number() == Approx(40'000));
  CHECK(document.at("tokens_per_s_per_gpu").number() == Approx(20'000));
  CHECK(document.at("model_tflops_per_gpu").number() == Approx(250));
  CHECK(document.at("mfu").number() == Approx(0.25));
  CHECK(document.at("hfu").number() == Approx(0.30));
  CHECK(document.at("fits").boolean());
  CHECK(document.at("peak_memory_bytes").integer() == (40_GiB).count());
  CHECK(document.at("memory").at("optimizer").integer() == (20_GiB).count());
  CHECK(document.at("memory").at("gradients").integer() == 0);
  CHECK(document.at("exposed_communication_s").number() == 0.025);
  CHECK(document.at("breakdown").elements().at(3).at("name").string() == "exposed_all_gather");
  CHECK(document.at("breakdown").elements().at(3).at("seconds").number() == 0.01);
  CHECK(document.at("bytes_on_wire").at("intra").integer() == 12'000'000'000);
  CHECK(document.at("bytes_on_wire").at("inter").integer() == 8'000'000'000);
  CHECK(is_null(document, "interval"));
  CHECK(is_null(document, "does_not_fit"));
  CHECK(document.at("calibration").string() == "uncalibrated: datasheet and default constants");
  CHECK(document.at("events").integer() == 42);
  CHECK(document.at("wall_s").number() == 0.25);
}

TEST_CASE("the JSON of a step that does not fit has the reason in numbers", "[reports][summary][json]") {
  auto step = tests::full_step();
  step.manifest.memory_capacity = 24_GiB;
  auto const document = io::parse({"summary.json", summary_json(summarize(step), Seconds{})});
  CHECK_FALSE(document.at("fits").boolean());
  CHECK(document.at("feasible").boolean());
  auto const reason = document.at("does_not_fit");
  CHECK(reason.at("needs_bytes").integer() == (40_GiB).count());
  CHECK(reason.at("has_bytes").integer() == (24_GiB).count());
  CHECK(reason.at("at").string() == "layer.0.forward/core");
  CHECK(reason.at("largest").elements().at(0).at("category").string() == "optimizer");
}

TEST_CASE("the JSON of an infeasible plan has the same keys, no numbers, and a reason", "[reports][summary][json]") {
  auto const json =
      summary_json(Infeasible{"toy", "48 layers do not divide into 5 stages", "use 4 or 6"}, Seconds{0.5});
  CHECK(keys_of(json) == keys_of(summary_json(summarize(tests::full_step()), Seconds{})));
  auto const document = io::parse({"summary.json", json});
  CHECK_FALSE(document.at("feasible").boolean());
  CHECK_FALSE(document.at("fits").boolean());
  CHECK(document.at("reason").string() == "48 layers do not divide into 5 stages");
  CHECK(document.at("way_out").string() == "use 4 or 6");
  CHECK(is_null(document, "step_time_s"));
  CHECK(is_null(document, "breakdown"));
}
