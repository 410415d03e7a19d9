#include "sim/program/projection.hpp"

#include <array>

#include "sim/program/well_formed.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

TEST_CASE("data-parallel replicas are one cell, however many there are", "[program][projection]") {
  auto program = four_ranks();
  program.grids = Grids{{Grid{{{"replicate", 1'000'000}, {"data", 4}}}}};
  program.communicators[0].along = program.grids.find(std::array<std::string_view, 1>{"data"}).value();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 1);
  CHECK(projection.representative(CellId{0}) == RankId{0});
  CHECK(projection.multiplicity(CellId{0}) == 4'000'000);
  CHECK(projection.members_in_group(CommunicatorId{0}, CellId{0}) == 4);
  CHECK(projection.cell_of(RankId{3'999'999}) == CellId{0});
}

TEST_CASE("each pipeline stage is a cell, and a communicator along the pipeline joins them", "[program][projection]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 3}, {"data", 4}}}};
  auto const pipeline = builder.communicator("pipeline", {"pipeline"});
  auto const data = builder.communicator("data", {"data"});
  for (std::int64_t stage = 0; stage < 3; ++stage) builder.role("stage" + std::to_string(stage), {{"pipeline", stage}});
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
  auto builder = ProgramBuilder{Grid{{{"data", 5}}}};
  auto const data = builder.communicator("data", {"data"});
  auto const uneven = builder.variation({builder.along({"data"}), 0, {3, 3, 2, 2, 2}});
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
  auto builder = ProgramBuilder{Grid{{{"data", 3}, {"tensor", 2}}}};
  auto const table = builder.variation({builder.along({"data", "tensor"}), 0, {1, 2, 1, 2, 1, 9}});
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
  auto builder = ProgramBuilder{Grid{{{"data", 4}}}};
  auto const data = builder.communicator("data", {"data"});
  auto const by_place = builder.variation({builder.along({"data"}), 3, {}});
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const whole = role.buffer(fp32(builder.name("whole"), 12, true));
  role.add(stream, builder.name("gather"), fp32_collective(CollectiveKind::kAllGather, data, 12, {0, by_place}),
           {whole, {0, by_place}, 3}, role.whole(whole));
  auto const program = std::move(builder).finish();
  CHECK(Projection{program}.size() == 1);
}

TEST_CASE("multiplicities add up to the world", "[program][projection]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}, {"data", 5}, {"tensor", 3}}}};
  auto const uneven = builder.variation({builder.along({"data"}), 0, {3, 3, 2, 2, 2}});
  builder.role("first", {{"pipeline", 0}}).buffer(fp32(builder.name("shard"), {0, uneven}));
  builder.role("last", {{"pipeline", 1}});
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

namespace {

/// pipeline 2 x data 2 x tensor 2, and experts folded over data and tensor.
ProgramBuilder with_experts() {
  return ProgramBuilder{std::vector{Grid{{{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, "dense"},
                                    Grid{{{"expert_data", 2}, {"expert", 4}}, "experts"}}};
}

}  // namespace

TEST_CASE("ranks that no axis of any grid tells apart are one cell", "[program][projection]") {
  auto builder = with_experts();
  auto const tensor = builder.communicator("tensor", {"tensor"});
  auto const experts = builder.communicator("experts", {"expert"});
  builder.role("main");
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 1);
  CHECK(projection.members_in_group(tensor, CellId{0}) == 2);
  CHECK(projection.members_in_group(experts, CellId{0}) == 4);
}

TEST_CASE("sizes along a second grid tell apart ranks of the first", "[program][projection]") {
  // Experts 0 to 3 are (data, tensor) (0, 0), (0, 1), (1, 0), (1, 1); of 4, 8, 4, 4 tokens the rows {4, 8} and {4, 4}
  // differ, and so do the columns {4, 4} and {8, 4}. The two pipeline ranks stay alike.
  auto builder = with_experts();
  auto const tensor = builder.communicator("tensor", {"tensor"});
  auto const experts = builder.communicator("experts", {"expert"});
  auto const load = builder.variation({builder.along({"expert"}), 0, {4, 8, 4, 4}});
  builder.role("main").buffer(fp32(builder.name("tokens"), {0, load}));
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 4);
  CHECK(projection.multiplicity(CellId{1}) == 2);
  CHECK(projection.cell_of(RankId{5}) == CellId{1});
  CHECK(projection.group(experts, CellId{1}).size() == 4);
  REQUIRE(projection.group(tensor, CellId{3}).size() == 2);
  CHECK(projection.group(tensor, CellId{3})[0] == CellId{2});
}

TEST_CASE("roles may stand in different grids, as long as each rank plays one", "[program][projection]") {
  // Experts 0 and 1 are data rank 0, experts 2 and 3 data rank 1.
  auto builder = with_experts();
  builder.role("dense", {{"data", 0}});
  builder.role("expert 2", {{"expert", 2}});
  builder.role("expert 3", {{"expert", 3}});
  auto const program = std::move(builder).finish();
  REQUIRE(find_defects(program).empty());
  CHECK(program.role_of(RankId{6}) == RoleId{1});
  CHECK(program.multiplicity(RoleId{0}) == 4);
  CHECK(program.multiplicity(RoleId{2}) == 2);
  CHECK(Projection{program}.size() == 4);  // 2 along data times 2 along tensor
}

TEST_CASE("where grids do not fold each other, every rank is its own cell", "[program][projection]") {
  auto builder = ProgramBuilder{
      std::vector{Grid{{{"data", 2}, {"tensor", 3}}, "dense"}, Grid{{{"expert_data", 3}, {"expert", 2}}, "experts"}}};
  auto const tensor = builder.communicator("tensor", {"tensor"});
  auto const experts = builder.communicator("experts", {"expert"});
  builder.role("main");
  auto const program = std::move(builder).finish();
  auto const projection = Projection{program};
  REQUIRE(projection.size() == 6);
  REQUIRE(projection.group(experts, CellId{2}).size() == 2);
  CHECK(projection.group(experts, CellId{2})[1] == CellId{3});
  CHECK(projection.group(tensor, CellId{4}).size() == 3);
  CHECK(projection.members_in_group(tensor, CellId{4}) == 1);
}
