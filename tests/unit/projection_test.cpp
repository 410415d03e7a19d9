#include "sim/program/projection.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

TEST_CASE("data-parallel replicas are one cell, however many there are", "[program][projection]") {
  auto program = four_ranks();
  program.mesh = Mesh{{{Axis::kReplicate, 1'000'000}, {Axis::kData, 4}}};
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 1);
  CHECK(projection.representative(CellId{0}) == RankId{0});
  CHECK(projection.multiplicity(CellId{0}) == 4'000'000);
  CHECK(projection.members_in_group(CommunicatorId{0}, CellId{0}) == 4);
  CHECK(projection.cell_of(RankId{3'999'999}) == CellId{0});
}

TEST_CASE("each pipeline stage is a cell, and a communicator along the pipeline joins them", "[program][projection]") {
  auto builder = ProgramBuilder{Mesh{{{Axis::kPipeline, 3}, {Axis::kData, 4}}}};
  auto const pipeline = builder.communicator("pipeline", {Axis::kPipeline});
  auto const data = builder.communicator("data", {Axis::kData});
  for (std::int64_t stage = 0; stage < 3; ++stage)
    builder.role("stage" + std::to_string(stage), {{Axis::kPipeline, stage}});
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 3);
  CHECK(projection.representative(CellId{2}) == RankId{8});  // 2 * 4
  CHECK(projection.role(CellId{2}) == RoleId{2});
  CHECK(projection.multiplicity(CellId{2}) == 4);
  CHECK(projection.group(pipeline, CellId{1}).size() == 3);
  REQUIRE(projection.group(data, CellId{1}).size() == 1);  // it meets only itself
  CHECK(projection.group(data, CellId{1})[0] == CellId{1});
  CHECK(projection.cell_of(RankId{11}) == CellId{2});
}

TEST_CASE("places with the same size are alike, and places with another are not", "[program][projection]") {
  auto builder = ProgramBuilder{Mesh{{{Axis::kData, 5}}}};
  auto const data = builder.communicator("data", {Axis::kData});
  auto const uneven = builder.variation({{Axis::kData}, 0, {3, 3, 2, 2, 2}});
  auto& role = builder.role("main");
  role.buffer(fp32(builder.name("shard"), {0, uneven}));
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 2);
  CHECK(projection.representative(CellId{1}) == RankId{2});
  CHECK(projection.multiplicity(CellId{0}) == 2);
  CHECK(projection.multiplicity(CellId{1}) == 3);
  CHECK(projection.members_in_group(data, CellId{1}) == 3);
  CHECK(projection.group(data, CellId{0}).size() == 2);
  CHECK(projection.cell_of(RankId{4}) == CellId{1});
}

TEST_CASE("a table over two axes tells apart only the coordinates that it needs to", "[program][projection]") {
  // Over data (3) and tensor (2): rows {1, 2}, {1, 2}, {1, 9}. Data coordinates 0 and 1 are alike; tensor's two differ.
  auto builder = ProgramBuilder{Mesh{{{Axis::kData, 3}, {Axis::kTensor, 2}}}};
  auto const table = builder.variation({{Axis::kData, Axis::kTensor}, 0, {1, 2, 1, 2, 1, 9}});
  builder.role("main").buffer(fp32(builder.name("expert"), {0, table}));
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 4);
  CHECK(projection.multiplicity(CellId{0}) == 2);            // ranks 0 and 2
  CHECK(projection.cell_of(RankId{3}) == CellId{1});         // (1, 1) is like (0, 1)
  CHECK(projection.representative(CellId{3}) == RankId{5});  // (2, 1)
  CHECK(projection.multiplicity(CellId{3}) == 1);
}

TEST_CASE("offsets and roots do not make ranks differ", "[program][projection]") {
  auto builder = ProgramBuilder{Mesh{{{Axis::kData, 4}}}};
  auto const data = builder.communicator("data", {Axis::kData});
  auto const by_place = builder.variation({{Axis::kData}, 3, {}});
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const whole = role.buffer(fp32(builder.name("whole"), 12, true));
  role.add(stream, builder.name("gather"), fp32_collective(CollectiveKind::kAllGather, data, 12, {0, by_place}),
           {whole, {0, by_place}, 3}, role.whole(whole));
  auto const program = std::move(builder).finish();
  CHECK(Projection{program}.size() == 1);
}

TEST_CASE("multiplicities add up to the world", "[program][projection]") {
  auto builder = ProgramBuilder{Mesh{{{Axis::kPipeline, 2}, {Axis::kData, 5}, {Axis::kTensor, 3}}}};
  auto const uneven = builder.variation({{Axis::kData}, 0, {3, 3, 2, 2, 2}});
  builder.role("first", {{Axis::kPipeline, 0}}).buffer(fp32(builder.name("shard"), {0, uneven}));
  builder.role("last", {{Axis::kPipeline, 1}});
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  auto ranks = std::int64_t{0};
  for (std::size_t i = 0; i < projection.size(); ++i) {
    ranks += projection.multiplicity(CellId{i});
    CHECK(projection.cell_of(projection.representative(CellId{i})) == CellId{i});
  }
  CHECK(projection.size() == 4);  // 2 stages, 2 sizes
  CHECK(ranks == 30);
}
