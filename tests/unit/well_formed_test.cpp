#include "sim/program/well_formed.hpp"

#include "sim/base/check.hpp"
#include "sim/program/checks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

namespace {

/// The one axis of the programs of four ranks.
constexpr auto kAlongData = GridAxes{GridId{0}, {AxisId{0}}};

/// The one defect that `program` has.
std::string only_defect(StepProgram const& program) {
  auto const defects = find_defects(program);
  REQUIRE(defects.size() == 1);
  return defects[0];
}

Operation& op(StepProgram& program, std::size_t index) {
  return program.roles[0].operations[index];
}
Access& operand(StepProgram& program, std::size_t of_op, std::size_t index) {
  return program.roles[0].accesses[op(program, of_op).accesses.first + index];
}
Collective& collective(StepProgram& program, std::size_t part) {
  return std::get<Collective>(program.roles[0].parts[part]);
}
VariationId vary(StepProgram& program, Variation variation) {
  program.variations.push_back(std::move(variation));
  return VariationId{program.variations.size() - 1};
}

/// A program of four ranks with one operation, which has `operands` fp32 buffers of `elements` numbers each.
StepProgram one_op(Work const& work, std::vector<std::int64_t> const& elements) {
  auto builder = ProgramBuilder{Grid{{{"data", 4}}}};
  auto& role = builder.role("main");
  auto const stream = role.stream("compute");
  auto accesses = std::vector<Access>{};
  for (auto const count : elements)
    accesses.push_back(updates(role.whole(role.buffer(fp32(builder.name("operand"), count, true)))));
  role.add(stream, builder.name("op"), work, accesses);
  return std::move(builder).finish();
}

/// A program of four ranks with one collective between two persistent buffers.
StepProgram one_collective(CollectiveKind kind, std::int64_t elements, Region sent, Region received,
                           std::vector<Variation> variations = {}) {
  auto builder = ProgramBuilder{Grid{{{"data", 4}}}};
  auto const data = builder.communicator("data", {"data"});
  for (auto& variation : variations) builder.variation(std::move(variation));
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  sent.buffer = role.buffer(fp32(builder.name("sent"), 100, true));
  received.buffer = role.buffer(fp32(builder.name("received"), 100, true));
  role.add(stream, builder.name("talk"), fp32_collective(kind, data, elements, 1), sent, received);
  return std::move(builder).finish();
}

}  // namespace

TEST_CASE("a program as a builder makes it has no defects", "[program][well_formed]") {
  CHECK(find_defects(four_ranks()).empty());
  CHECK_NOTHROW(check(four_ranks()));
}

TEST_CASE("an operation may wait only for earlier ones", "[program][well_formed]") {
  auto program = four_ranks();
  program.roles[0].waits[0] = OpId{4};
  CHECK(only_defect(program) == "role \"main\", layer.0/scatter (op 3): waits for op 4, which is not issued before it");
}

TEST_CASE("ids name something that exists", "[program][well_formed]") {
  auto program = four_ranks();
  op(program, 1).stream = StreamId{7};
  CHECK(only_defect(program) == "role \"main\", layer.0/multiply (op 1): names stream 7, but there are 2");
  program = four_ranks();
  operand(program, 1, 0).region.buffer = BufferId{};
  CHECK(only_defect(program) == "role \"main\", layer.0/multiply (op 1): names no buffer");
  program = four_ranks();
  collective(program, 0).communicator = CommunicatorId{3};
  CHECK(only_defect(program) == "role \"main\", layer.0/scatter (op 3): names communicator 3, but there are 1");
  program = four_ranks();
  collective(program, 0).elements.variation = VariationId{0};
  CHECK(only_defect(program) == "role \"main\", layer.0/scatter (op 3): names variation 0, but there are 0");
}

TEST_CASE("an operation has a name", "[program][well_formed]") {
  auto program = four_ranks();
  op(program, 2).name = NameId{};
  CHECK(only_defect(program) == "role \"main\": op 2 has no name");
}

TEST_CASE("only host work goes without a stream", "[program][well_formed]") {
  auto program = four_ranks();
  op(program, 1).stream = StreamId{};
  CHECK(only_defect(program) == "role \"main\", layer.0/multiply (op 1): has no stream, but is not host work");
}

TEST_CASE("a variation has one entry for each place", "[program][well_formed]") {
  auto program = four_ranks();
  vary(program, {kAlongData, 0, {1, 2, 3}});
  CHECK(only_defect(program) == "variation 0 has a table of 3 entries for 4 places");
}

TEST_CASE("every rank plays exactly one role", "[program][well_formed]") {
  auto program = four_ranks();
  program.grids = Grids{{Grid{{{"pipeline", 2}, {"data", 4}}}}};
  program.roles[0].where = {{AxisId{0}, 0}};
  CHECK(only_defect(program) == "rank 4 plays no role");
  program.roles.push_back(program.roles[0]);
  program.roles[1].where = {};
  program.roles[1].name = program.roles[0].operations[0].name;
  CHECK(only_defect(program) == "rank 0 plays 2 roles, \"main\" and \"load\" among them");
}

TEST_CASE("a role stands inside its grid", "[program][well_formed]") {
  auto program = four_ranks();
  program.roles[0].where = {{AxisId{0}, 4}};
  CHECK(only_defect(program) == "role \"main\": stands at data 4, but that axis has 4 places");
}

TEST_CASE("communicators, variations and roles name axes of one of the grids", "[program][well_formed]") {
  auto program = four_ranks();
  program.communicators[0].along.grid = GridId{1};
  CHECK(only_defect(program) == "communicator 0 names axes of no grid");
  program = four_ranks();
  vary(program, {{GridId{0}, {AxisId{1}}}, 1, {}});
  CHECK(only_defect(program) == "variation 0 names axes of no grid");
  program = four_ranks();
  program.roles[0].grid = GridId{1};
  CHECK(only_defect(program) == "role \"main\": stands in no grid");
  program.roles[0].grid = GridId{0};
  program.roles[0].where = {{AxisId{1}, 0}};
  CHECK(only_defect(program) == "role \"main\": stands along no axis of its grid");
}

TEST_CASE("a region lies inside its buffer on every rank", "[program][well_formed]") {
  auto program = four_ranks();
  program.roles[0].buffers[2].elements = 7;
  CHECK(only_defect(program) ==
        "role \"main\", layer.0/multiply (op 1): touches [0, 8) of buffer \"output\", which has 7 elements on rank 0");
  // Pieces of 3 at 4 i: rank 3's is [12, 15), past the 12 numbers of the gradient.
  program = four_ranks();
  auto const by_place = vary(program, {kAlongData, 4, {}});
  operand(program, 4, 0).region = {BufferId{3}, {0, by_place}, 3};
  auto const defects = find_defects(program);
  REQUIRE(!defects.empty());
  CHECK(
      defects[0] ==
      "role \"main\", layer.0/gather (op 4): touches [12, 15) of buffer \"gradient\", which has 12 elements on rank 3");
}

TEST_CASE("a product has three operands of its shape", "[program][well_formed]") {
  CHECK(find_defects(one_op(Gemm{2, 4, 3, 5, DataType::kFp32}, {30, 60, 40})).empty());
  CHECK(only_defect(one_op(Gemm{2, 4, 3}, {6, 12})) == "role \"main\", op (op 0): has 2 operands, expected 3");
  // A [2, 3], B [3, 4], C [2, 4].
  CHECK(only_defect(one_op(Gemm{2, 4, 3}, {6, 13, 8})) ==
        "role \"main\", op (op 0): B \"operand\" has 13 elements on rank 0, expected 12");
  // Windows that overlap: the rows of A [2, 3] share the middle one of 5 elements.
  CHECK(find_defects(one_op(Gemm{.m = 2, .n = 4, .k = 3, .windows = Windows::kA, .window_elements = 5}, {5, 12, 8}))
            .empty());
  CHECK(only_defect(one_op(Gemm{2, 0, 3}, {6, 0, 0})) ==
        "role \"main\", op (op 0): is a product of size 2 x 0 x 3, batch 1");
  auto program = four_ranks();
  operand(program, 1, 2).mode = AccessMode::kRead;
  CHECK_THAT(find_defects(program)[0], Catch::Contains("reads A and B and writes C, but its operands say otherwise"));
  program = four_ranks();
  std::get<Gemm>(op(program, 1).work).accumulate = true;
  CHECK_THAT(only_defect(program), Catch::Contains("adds to C, but its operand only writes it"));
}

TEST_CASE("memory-bound kernels have the operands of their function", "[program][well_formed]") {
  auto const kernel = [](Function function) {
    return Elementwise{.function = function, .elements = 5, .bytes_per_element = 4, .type = DataType::kFp32};
  };
  CHECK(find_defects(one_op(kernel(Function::kAdd), {5, 5, 5})).empty());
  CHECK(find_defects(one_op(kernel(Function::kAdamW), {5, 5, 5, 5, 5})).empty());
  CHECK(find_defects(one_op(kernel(Function::kAdamW), {5, 5, 5, 5})).empty());     // its own master copy
  CHECK(find_defects(one_op(kernel(Function::kAdamW), {5, 2, 3, 5, 5})).empty());  // two gradients
  CHECK(find_defects(one_op(kernel(Function::kSgdMomentum), {5, 5, 5})).empty());
  CHECK(find_defects(one_op(kernel(Function::kSquaredNorm), {2, 3, 1})).empty());
  CHECK(find_defects(one_op(kernel(Function::kClip), {1, 2, 3})).empty());
  CHECK(only_defect(one_op(kernel(Function::kClip), {1, 2, 2})) ==
        "role \"main\", op (op 0): has operands of 1, 2, 2 elements on rank 0, which do not fit clip on 5 elements");
  CHECK(find_defects(one_op(kernel(Function::kCostOnly), {1, 2, 3, 4, 5, 6})).empty());
  CHECK(only_defect(one_op(kernel(Function::kGelu), {5, 5, 5})) ==
        "role \"main\", op (op 0): has 3 operands, expected 2");
  CHECK(only_defect(one_op(kernel(Function::kScale), {5, 6})) ==
        "role \"main\", op (op 0): operand \"operand\" has 6 elements on rank 0, expected 5");
}

TEST_CASE("a copy moves the bytes of both operands between the memories that it names", "[program][well_formed]") {
  CHECK(find_defects(one_op(Copy{CopyDirection::kDeviceToDevice, 20}, {5, 5})).empty());
  CHECK(only_defect(one_op(Copy{CopyDirection::kDeviceToDevice, 20}, {5, 4})) ==
        "role \"main\", op (op 0): copies 20 bytes, but \"operand\" has 16 on rank 0");
  CHECK(only_defect(one_op(Copy{CopyDirection::kDeviceToHost, 20}, {5, 5})) ==
        "role \"main\", op (op 0): copies device_to_host, but from buffer \"operand\" in device memory to buffer "
        "\"operand\" in device memory");
}

TEST_CASE("each collective sends and receives what its kind says", "[program][well_formed]") {
  // 12 numbers over 4 ranks: chunks of 3.
  auto const fits = [](CollectiveKind kind, std::int64_t sent, std::int64_t received) {
    return find_defects(one_collective(kind, 12, {{}, 0, sent}, {{}, 0, received})).empty();
  };
  CHECK(fits(CollectiveKind::kAllReduce, 12, 12));
  CHECK_FALSE(fits(CollectiveKind::kAllReduce, 12, 3));
  CHECK(fits(CollectiveKind::kAllGather, 3, 12));
  CHECK_FALSE(fits(CollectiveKind::kAllGather, 12, 12));
  CHECK(fits(CollectiveKind::kReduceScatter, 12, 3));
  CHECK(fits(CollectiveKind::kAllToAll, 12, 12));
  CHECK(fits(CollectiveKind::kBroadcast, 12, 12));
  CHECK_FALSE(fits(CollectiveKind::kBroadcast, 0, 12));  // the root sends too
  CHECK(fits(CollectiveKind::kReduce, 12, 12));
  CHECK(fits(CollectiveKind::kGather, 3, 12));
  CHECK(fits(CollectiveKind::kScatter, 12, 3));
  CHECK(only_defect(one_collective(CollectiveKind::kAllGather, 12, {{}, 0, 4}, {{}, 0, 12})) ==
        "role \"main\", talk (op 0): all_gather of 12 elements over 4 ranks sends 4 elements on rank 0 (place 0), "
        "expected 3");
}

TEST_CASE("ranks other than the root may leave their side of a rooted collective empty", "[program][well_formed]") {
  // The root is place 1: only it sends in a broadcast, and only it receives in a gather.
  auto const only_root = std::vector<Variation>{{kAlongData, 0, {0, 12, 0, 0}}};
  auto const value = RankValue{0, VariationId{0}};
  CHECK(find_defects(one_collective(CollectiveKind::kBroadcast, 12, {{}, 0, value}, {{}, 0, 12}, only_root)).empty());
  CHECK(find_defects(one_collective(CollectiveKind::kGather, 12, {{}, 0, 3}, {{}, 0, value}, only_root)).empty());
}

TEST_CASE("uneven chunks follow the common rule, rank by rank", "[program][well_formed]") {
  // 10 over 4 ranks: chunks begin at 0, 2, 5, 7, so they are 2, 3, 2, 3 (chunk_begin: 2 i + 2 i / 4).
  auto const right = std::vector<Variation>{{kAlongData, 0, {2, 3, 2, 3}}};
  auto const wrong = std::vector<Variation>{{kAlongData, 0, {3, 3, 2, 2}}};
  auto const value = RankValue{0, VariationId{0}};
  auto const gather = [&](std::vector<Variation> const& variations) {
    return one_collective(CollectiveKind::kAllGather, 10, {{}, 0, value}, {{}, 0, 10}, variations);
  };
  CHECK(find_defects(gather(right)).empty());
  CHECK(only_defect(gather(wrong)) ==
        "role \"main\", talk (op 0): all_gather of 10 elements over 4 ranks sends 3 elements on rank 0 (place 0), "
        "expected 2");
}

TEST_CASE("in an uneven all_to_all a rank receives its chunk of what each rank sends", "[program][well_formed]") {
  // Ranks send 4, 8, 4, 4 numbers; each is cut in four, so every rank receives 1 + 2 + 1 + 1 = 5.
  auto program = one_collective(CollectiveKind::kAllToAll, 0, {{}, 0, 0}, {{}, 0, 5}, {{kAlongData, 0, {4, 8, 4, 4}}});
  auto const value = RankValue{0, VariationId{0}};
  collective(program, 0).elements = value;
  operand(program, 0, 0).region.elements = value;
  CHECK(find_defects(program).empty());
  operand(program, 0, 1).region.elements = 6;
  CHECK_THAT(only_defect(program), Catch::Contains("receives 6 elements on rank 0 (place 0), expected 5"));
}

TEST_CASE("roots and peers lie inside the communicator", "[program][well_formed]") {
  auto program = four_ranks();
  collective(program, 0).root = 4;
  CHECK(only_defect(program) ==
        "role \"main\", layer.0/scatter (op 3): root 4 on rank 0 lies outside communicator \"data\" of 4 ranks");
  // A ring written without wrapping round: the last rank's right neighbour would be place 4.
  auto builder = ProgramBuilder{Grid{{{"data", 4}}}};
  auto const data = builder.communicator("data", {"data"});
  auto const by_place = builder.variation({builder.along({"data"}), 1, {}});
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const buffer = role.buffer(fp32(builder.name("block"), 3, true));
  auto const part = CommunicationPart{PointToPoint{true, DataType::kFp32, data, {1, by_place}, 3}};
  auto const access = reads(role.whole(buffer));
  role.group(stream, builder.name("pass"), std::span{&part, 1}, std::span{&access, 1});
  CHECK(only_defect(std::move(builder).finish()) ==
        "role \"main\", pass (op 0): peer 4 on rank 3 lies outside communicator \"data\" of 4 ranks");
}

TEST_CASE("a communication moves elements of the size that its buffers hold", "[program][well_formed]") {
  auto program = four_ranks();
  collective(program, 0).type = DataType::kBf16;
  auto const defects = find_defects(program);
  REQUIRE(defects.size() == 2);  // both sides
  CHECK(defects[0] == "role \"main\", layer.0/scatter (op 3): moves bf16, but buffer \"gradient\" holds fp32");
}

TEST_CASE("nothing is read before something wrote it, unless it outlives the step", "[program][well_formed]") {
  auto program = four_ranks();
  program.roles[0].buffers[1].is_persistent = false;  // the weight
  CHECK(only_defect(program) ==
        "role \"main\", layer.0/multiply (op 1): reads buffer \"weight\" before anything wrote it");
}

TEST_CASE("lifetimes are those of the operations", "[program][well_formed]") {
  auto program = four_ranks();
  program.roles[0].buffers[0].last_use = OpId{4};
  CHECK(only_defect(program) == "role \"main\": buffer \"input\" says another lifetime than its operations have");
}

TEST_CASE("a buffer has no negative size on any rank", "[program][well_formed]") {
  auto program = four_ranks();
  auto const falling = vary(program, {kAlongData, -1, {}});
  auto buffer = fp32(program.roles[0].buffers[0].name, {2, falling});
  program.roles[0].buffers.push_back(buffer);
  CHECK(only_defect(program) == "role \"main\": buffer \"input\" has -1 elements on rank 3");
}

TEST_CASE("checking a program that has defects is our own bug", "[program][well_formed]") {
  auto program = four_ranks();
  program.roles[0].waits[0] = OpId{4};
  CHECK_THROWS_AS(check(program), InternalError);
  CHECK_THROWS_WITH(check(program), Catch::Contains("a step program has 1 defects") && Catch::Contains("op 4"));
}
