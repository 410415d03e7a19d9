#include "sim/program/builder.hpp"

#include "sim/program/lifetimes.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

TEST_CASE("a wait holds for the next operation on its stream only", "[program][builder]") {
  auto const program = four_ranks();
  auto const& role = program.roles[0];
  auto const waits = [&](std::size_t op) { return role.waits_of(role.operations[op]); };
  REQUIRE(waits(3).size() == 1);  // "comm" waits for the gradient, once
  CHECK(waits(3)[0] == OpId{2});
  CHECK(waits(4).empty());
  REQUIRE(waits(5).size() == 1);  // the host waits for the gather
  CHECK(waits(5)[0] == OpId{4});
  CHECK(role.operations[5].is_on_host());
}

TEST_CASE("a wait for an operation of the same stream adds nothing to the stream's order", "[program][builder]") {
  auto builder = ProgramBuilder{Grid{}};
  auto& role = builder.role("main");
  auto const stream = role.stream("compute");
  auto const first = role.add(stream, builder.name("first"), Delay{}, {});
  role.wait(stream, first);
  role.add(stream, builder.name("second"), Delay{}, {});
  CHECK(role.last_on(stream) == OpId{1});
  auto const program = std::move(builder).finish();
  CHECK(program.roles[0].waits.empty());
}

TEST_CASE("a buffer lives from the first to the last operation that touches it", "[program][builder]") {
  auto const program = four_ranks();
  auto const& buffers = program.roles[0].buffers;
  // input: ops 0 and 1, both on "compute". gradient: written by op 2 on "compute", read by op 3 on "comm".
  CHECK(buffers[0].first_use == OpId{0});
  CHECK(buffers[0].last_use == OpId{1});
  CHECK_FALSE(buffers[0].crosses_streams);
  CHECK(buffers[3].first_use == OpId{2});
  CHECK(buffers[3].last_use == OpId{3});
  CHECK(buffers[3].crosses_streams);
}

TEST_CASE("lifetimes found again from the operations are those that the builder noted", "[program][builder]") {
  auto const program = four_ranks();
  auto const& role = program.roles[0];
  auto const lifetimes = lifetimes_of(role);
  for (std::size_t i = 0; i < role.buffers.size(); ++i) {
    auto const& buffer = role.buffers[i];
    CHECK(lifetimes[i] == Lifetime{buffer.first_use, buffer.last_use, buffer.crosses_streams});
  }
}

TEST_CASE("the same text has one id", "[program][builder]") {
  auto builder = ProgramBuilder{Grid{}};
  auto const id = builder.name("layer.0");
  CHECK(builder.name("layer.1") != id);
  CHECK(builder.name("layer.0") == id);
}

TEST_CASE("everything lies in the scope that was entered last", "[program][builder]") {
  auto const program = four_ranks();
  auto const& role = program.roles[0];
  CHECK(program.text(role.buffers[0].scope) == "layer.0");
  CHECK(program.describe(role.operations[1]) == "layer.0/multiply");
}

TEST_CASE("names of scopes are made from unit, pass and micro-batch", "[program][builder]") {
  auto builder = ProgramBuilder{Grid{}};
  auto const layer = builder.name("layer.17");
  auto const first = builder.scope({layer, Pass::kBackward, 0});
  auto const second = builder.scope({layer, Pass::kBackward, 1});
  auto const update = builder.scope({.pass = Pass::kUpdate});
  auto const data = builder.scope({.micro_batch = 3});
  CHECK(first != second);
  CHECK(builder.scope({layer, Pass::kBackward, 0}) == first);
  CHECK_FALSE(builder.scope({}).exists());
  auto const program = std::move(builder).finish();
  CHECK(program.text(first) == "layer.17.backward");
  CHECK(program.text(second) == "layer.17.backward");
  CHECK(program.text(update) == "optimizer");
  CHECK(program.text(data) == "micro_batch.3");
  CHECK(program.text(ScopeId{}).empty());
  CHECK(program.pass_of(second) == Pass::kBackward);
  CHECK(program.pass_of(data) == Pass::kNone);
}

TEST_CASE("the operands of a group are those of its parts, in order", "[program][builder]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}}}};
  auto const pipeline = builder.communicator("pipeline", {"pipeline"});
  auto& role = builder.role("both");
  auto const stream = role.stream("comm");
  auto const out = role.buffer(fp32(builder.name("out"), 4, true));
  auto const in = role.buffer(fp32(builder.name("in"), 4));
  auto const parts = std::vector<CommunicationPart>{PointToPoint{true, DataType::kFp32, pipeline, 0, 4},
                                                    PointToPoint{false, DataType::kFp32, pipeline, 0, 4}};
  auto const accesses = std::vector{reads(role.whole(out)), writes(role.whole(in))};
  role.group(stream, builder.name("exchange"), parts, accesses);
  auto const program = std::move(builder).finish();
  auto const& built = program.roles[0];
  auto const& op = built.operations[0];
  CHECK(built.parts_of(std::get<Communication>(op.work)).size() == 2);
  REQUIRE(built.accesses_of(op).size() == 2);
  CHECK(built.accesses_of(op)[1].region.buffer == in);
}
