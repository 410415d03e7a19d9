#include "reports/compare.hpp"

#include "sim/io/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/timelines.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::reports;
using program::MemoryCategory;
using program::WorkKind;

TEST_CASE("a step that takes a quarter longer has the ratio 1.25", "[reports][compare]") {
  auto a = tests::TimelineBuilder{};
  a.compute(WorkKind::kGemm, "gemm", {0_us, 8_us});
  auto b = tests::TimelineBuilder{};
  b.compute(WorkKind::kGemm, "gemm", {0_us, 10_us});
  auto const comparison = compare(a.timeline(), b.timeline());
  CHECK(comparison.step_time.ratio().value() == 1.25);
  CHECK(compare(a.timeline(), a.timeline()).step_time.ratio().value() == 1);
}

TEST_CASE("a ratio to nothing does not exist", "[reports][compare]") {
  CHECK_FALSE(Pair<Duration>{0_us, 4_us}.ratio().has_value());
  CHECK(Pair<Duration>{4_us, 0_us}.ratio().value() == 0);
}

TEST_CASE("a comparison says what the faster step does not wait for", "[reports][compare]") {
  // Both reduce for 6 us. In a the kernels end at 8 us and all of it is exposed; in b it runs under the second kernel.
  auto a = tests::TimelineBuilder{};
  a.compute(WorkKind::kGemm, "gemm", {0_us, 8_us}).communicate(WorkKind::kAllReduce, "sum", 8_us, 8_us, 14_us);
  auto b = tests::TimelineBuilder{};
  b.compute(WorkKind::kGemm, "gemm", {0_us, 8_us}).communicate(WorkKind::kAllReduce, "sum", 2_us, 2_us, 8_us);
  auto const shares = compare(a.timeline(), b.timeline()).shares;
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].name == "exposed_all_reduce");
  CHECK(shares[0].time == Pair<Duration>{6_us, 0_us});
  CHECK(shares[1].name == "gemm");
  CHECK(shares[1].time == Pair<Duration>{8_us, 8_us});
}

TEST_CASE("busy time is compared by kind of work, from arrival to end", "[reports][compare]") {
  // a: gemms of 3 + 5 us, and an all_reduce that waits 2 and runs 4. b cannot see the wait: it arrives, and ends 7
  // later.
  auto a = tests::TimelineBuilder{};
  a.compute(WorkKind::kGemm, "up", {0_us, 3_us})
      .compute(WorkKind::kGemm, "down", {3_us, 8_us})
      .communicate(WorkKind::kAllReduce, "sum", 8_us, 10_us, 14_us);
  auto b = tests::TimelineBuilder{};
  b.compute(WorkKind::kGemm, "up", {0_us, 4_us})
      .compute(WorkKind::kGemm, "down", {4_us, 8_us})
      .communicate(WorkKind::kAllReduce, "sum", 8_us, 8_us, 15_us);
  auto const kinds = compare(a.timeline(), b.timeline()).kinds;
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].kind == WorkKind::kGemm);
  CHECK(kinds[0].time == Pair<Duration>{8_us, 8_us});
  CHECK(kinds[0].spans == Pair<std::int64_t>{2, 2});
  CHECK(kinds[1].kind == WorkKind::kAllReduce);
  CHECK(kinds[1].time == Pair<Duration>{6_us, 7_us});
}

TEST_CASE("operations are matched by scope, name and occurrence; the largest difference comes first",
          "[reports][compare]") {
  // layer.0/up: 1 and 2 us against 1 and 5; layer.1/up: 4 against 2.
  auto a = tests::TimelineBuilder{};
  a.scope("layer.0").compute(WorkKind::kGemm, "up", {0_us, 1_us}).compute(WorkKind::kGemm, "up", {1_us, 3_us});
  a.scope("layer.1").compute(WorkKind::kGemm, "up", {3_us, 7_us});
  auto b = tests::TimelineBuilder{};
  b.scope("layer.1").compute(WorkKind::kGemm, "up", {0_us, 2_us});
  b.scope("layer.0").compute(WorkKind::kGemm, "up", {2_us, 3_us}).compute(WorkKind::kGemm, "up", {3_us, 8_us});
  auto const spans = compare(a.timeline(), b.timeline()).spans;
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].what == "layer.0/up");
  CHECK(spans[0].occurrence == 1);
  CHECK(spans[0].time == Pair<Duration>{2_us, 5_us});
  CHECK(spans[1].what == "layer.1/up");
  CHECK(spans[1].time == Pair<Duration>{4_us, 2_us});
  CHECK(spans[2].time.difference() == 0_us);
}

TEST_CASE("operations of one side alone are listed", "[reports][compare]") {
  auto a = tests::TimelineBuilder{};
  a.compute(WorkKind::kGemm, "up", {0_us, 1_us}).communicate(WorkKind::kAllGather, "gather", 1_us, 1_us, 4_us);
  auto b = tests::TimelineBuilder{};
  b.compute(WorkKind::kGemm, "up", {0_us, 1_us}).compute(WorkKind::kGemm, "up", {1_us, 3_us});
  auto const comparison = compare(a.timeline(), b.timeline());
  REQUIRE(comparison.only_a.size() == 1);
  CHECK(comparison.only_a[0].what == "gather");
  CHECK(comparison.only_a[0].time == 3_us);
  REQUIRE(comparison.only_b.size() == 1);
  CHECK(comparison.only_b[0].what == "up");
  CHECK(comparison.only_b[0].occurrence == 1);
}

TEST_CASE("tracks of equal role are compared, by the one that ends last", "[reports][compare]") {
  auto a = tests::TimelineBuilder{};
  a.track("stage_0", 0).compute(WorkKind::kGemm, "up", {0_us, 4_us});
  a.track("stage_1", 1).compute(WorkKind::kGemm, "up", {4_us, 6_us});
  auto b = tests::TimelineBuilder{};
  b.track("stage_1", 2).compute(WorkKind::kGemm, "up", {0_us, 2_us});
  b.track("stage_1", 3).compute(WorkKind::kGemm, "up", {0_us, 3_us});
  b.track("stage_2", 4).compute(WorkKind::kGemm, "up", {0_us, 1_us});
  auto const comparison = compare(a.timeline(), b.timeline());
  REQUIRE(comparison.spans.size() == 1);
  CHECK(comparison.spans[0].role == "stage_1");
  CHECK(comparison.spans[0].time == Pair<Duration>{2_us, 3_us});
  CHECK(comparison.roles_only_a == std::vector<std::string>{"stage_0"});
  CHECK(comparison.roles_only_b == std::vector<std::string>{"stage_2"});
}

TEST_CASE("two timelines of one role each are compared whatever the roles are called", "[reports][compare]") {
  auto a = tests::TimelineBuilder{};
  a.track("every", 0).compute(WorkKind::kGemm, "up", {0_us, 4_us});
  auto b = tests::TimelineBuilder{};
  b.track("worker", 0).compute(WorkKind::kGemm, "up", {0_us, 5_us});
  CHECK(compare(a.timeline(), b.timeline()).spans.size() == 1);
}

TEST_CASE("memory peaks are compared by category", "[reports][compare]") {
  auto a = tests::TimelineBuilder{};
  a.memory(0_us, MemoryCategory::kParameters, 4_GiB).memory(1_us, MemoryCategory::kActivations, 2_GiB);
  auto b = tests::TimelineBuilder{};
  b.memory(0_us, MemoryCategory::kParameters, 4_GiB).memory(1_us, MemoryCategory::kGradients, 5_GiB);
  auto const comparison = compare(a.timeline(), b.timeline());
  CHECK(comparison.peak == Pair<Bytes>{6_GiB, 9_GiB});
  REQUIRE(comparison.memory.size() == 3);
  CHECK(comparison.memory[1].category == MemoryCategory::kGradients);
  CHECK(comparison.memory[1].bytes == Pair<Bytes>{0_GiB, 5_GiB});
}

TEST_CASE("the JSON comparison holds every operation with both times", "[reports][compare][json]") {
  auto a = tests::TimelineBuilder{};
  a.scope("layer.0").compute(WorkKind::kGemm, "up", {0_us, 4_us});
  auto b = tests::TimelineBuilder{};
  b.scope("layer.0").compute(WorkKind::kGemm, "up", {0_us, 5_us}).compute(WorkKind::kDelay, "pause", {5_us, 6_us});
  b.manifest().clock = timeline::Clock::kReal;
  auto const document = io::parse({"compare.json", compare_json(compare(a.timeline(), b.timeline()))});
  CHECK(document.at("a").at("clock").string() == "virtual");
  CHECK(document.at("b").at("clock").string() == "real");
  CHECK(document.at("step_time").at("ratio").number() == 1.5);
  auto const span = document.at("spans").elements().at(0);
  CHECK(span.at("operation").string() == "layer.0/up");
  CHECK(span.at("a_s").number() == 4e-6);
  CHECK(span.at("ratio").number() == 1.25);
  CHECK(document.at("only_b").elements().at(0).at("operation").string() == "layer.0/pause");
  CHECK(document.at("kinds").elements().at(1).has("ratio"));
  CHECK_FALSE(document.at("kinds").elements().at(1).find("ratio").has_value());
}
