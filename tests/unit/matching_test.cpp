#include "sim/program/matching.hpp"

#include "sim/program/checks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

namespace {

/// One or two pipeline stages with a stream "comm" and a buffer of 100 numbers each.
struct Stages {
  explicit Stages(std::int64_t stages, std::int64_t replicas = 1)
      : builder{Grid{{{"pipeline", stages}, {"data", replicas}}}},
        pipeline{builder.communicator("pipeline", {"pipeline"})},
        data{builder.communicator("data", {"data"})} {
    for (std::int64_t i = 0; i < stages; ++i) {
      auto& role = builder.role("stage" + std::to_string(i), {{"pipeline", i}});
      roles.push_back(&role);
      streams.push_back(role.stream("comm"));
      role.buffer(fp32(builder.name("block"), 100, true));
    }
  }
  void collective(std::size_t stage, char const* name, Collective const& what, StreamId stream = {}) {
    auto const on = stream.exists() ? stream : streams[stage];
    roles[stage]->add(on, builder.name(name), what, {BufferId{0}, 0, what.elements}, {BufferId{0}, 0, what.elements});
  }
  void all_reduce(std::size_t stage, CommunicatorId communicator, std::int64_t elements, StreamId stream = {}) {
    collective(stage, "reduce", fp32_collective(CollectiveKind::kAllReduce, communicator, elements), stream);
  }
  OpId send(std::size_t stage, std::int64_t to, std::int64_t elements) { return message(stage, true, to, elements); }
  OpId receive(std::size_t stage, std::int64_t from, std::int64_t elements) {
    return message(stage, false, from, elements);
  }
  OpId message(std::size_t stage, bool sends, std::int64_t peer, std::int64_t elements) {
    auto const part = CommunicationPart{PointToPoint{sends, DataType::kFp32, pipeline, peer, elements}};
    auto const region = Region{BufferId{0}, 0, elements};
    auto const access = sends ? reads(region) : writes(region);
    return roles[stage]->group(streams[stage], builder.name(sends ? "send" : "receive"), std::span{&part, 1},
                               std::span{&access, 1});
  }
  void exchange(std::size_t stage, std::int64_t peer) {
    auto const parts = std::vector<CommunicationPart>{PointToPoint{true, DataType::kFp32, pipeline, peer, 5},
                                                      PointToPoint{false, DataType::kFp32, pipeline, peer, 5}};
    auto const accesses = std::vector{reads({BufferId{0}, 0, 5}), writes({BufferId{0}, 5, 5})};
    roles[stage]->group(streams[stage], builder.name("exchange"), parts, accesses);
  }
  std::vector<std::string> mismatches() { return find_mismatches(std::move(builder).finish()); }

  ProgramBuilder builder;
  CommunicatorId pipeline, data;
  std::vector<RoleBuilder*> roles;
  std::vector<StreamId> streams;
};

}  // namespace

TEST_CASE("ranks that run one program match", "[program][matching]") {
  CHECK(find_mismatches(four_ranks()).empty());
}

TEST_CASE("members of a group issue the same collectives", "[program][matching]") {
  auto stages = Stages{2};
  stages.all_reduce(0, stages.pipeline, 10);
  stages.all_reduce(1, stages.pipeline, 12);
  auto const found = stages.mismatches();
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        "collective #0 on communicator \"pipeline\": rank 0 issues all_reduce of 10 fp32 (sum), reduce (op 0), but "
        "rank 1 issues all_reduce of 12 fp32 (sum), reduce (op 0)");
}

TEST_CASE("kind, reduction and root must agree too", "[program][matching]") {
  auto const differ = [](auto change) {
    auto stages = Stages{2};
    auto what = fp32_collective(CollectiveKind::kReduce, stages.pipeline, 10, 0);
    stages.collective(0, "reduce", what);
    change(what);
    stages.collective(1, "reduce", what);
    return stages.mismatches();
  };
  CHECK(differ([](Collective&) {}).empty());
  CHECK_THAT(differ([](Collective& c) { c.kind = CollectiveKind::kAllReduce; }).at(0),
             Catch::Contains("rank 0 issues reduce of 10 fp32 (sum) with root 0") &&
                 Catch::Contains("rank 1 issues all_reduce of 10 fp32 (sum)"));
  CHECK_THAT(differ([](Collective& c) { c.reduction = Reduction::kMax; }).at(0), Catch::Contains("(max) with root 0"));
  CHECK_THAT(differ([](Collective& c) { c.root = 1; }).at(0), Catch::Contains("with root 1"));
  CHECK_THAT(differ([](Collective& c) { c.type = DataType::kInt32; }).at(0), Catch::Contains("10 int32"));
}

TEST_CASE("a member that skips a collective is found by the count", "[program][matching]") {
  auto stages = Stages{2, 8};
  stages.all_reduce(0, stages.pipeline, 10);
  stages.all_reduce(0, stages.pipeline, 10);
  stages.all_reduce(1, stages.pipeline, 10);
  auto const found = stages.mismatches();
  REQUIRE(found.size() == 1);
  CHECK(
      found[0] ==
      "communicator \"pipeline\": rank 0 (and 7 alike) issues 2 collectives, but rank 8 (and 7 alike) issues 1; reduce "
      "(op 1) has no counterpart");
}

TEST_CASE("stages need not agree on a communicator that does not join them", "[program][matching]") {
  auto stages = Stages{2, 4};
  stages.all_reduce(0, stages.data, 10);
  stages.all_reduce(1, stages.data, 99);
  stages.all_reduce(1, stages.data, 7);
  CHECK(stages.mismatches().empty());
}

TEST_CASE("ranks of one group cannot have different roots, even in one role", "[program][matching]") {
  auto builder = ProgramBuilder{Grid{{{"data", 4}}}};
  auto const data = builder.communicator("data", {"data"});
  auto const by_place = builder.variation({builder.along({"data"}), 1, {}});
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const block = role.buffer(fp32(builder.name("block"), 8, true));
  role.add(stream, builder.name("share"), fp32_collective(CollectiveKind::kBroadcast, data, 8, {0, by_place}),
           role.whole(block), role.whole(block));
  auto const found = find_mismatches(std::move(builder).finish());
  REQUIRE(found.size() == 1);
  CHECK(found[0] == "collective #0 on communicator \"data\": share (op 0) has root 0 on rank 0, but root 1 on rank 1");
}

TEST_CASE("each group may have a root of its own", "[program][matching]") {
  // Groups along data; the root follows the tensor coordinate, which is the same within a group.
  auto builder = ProgramBuilder{Grid{{{"data", 4}, {"tensor", 2}}}};
  auto const data = builder.communicator("data", {"data"});
  auto const by_tensor = builder.variation({builder.along({"tensor"}), 1, {}});
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const block = role.buffer(fp32(builder.name("block"), 8, true));
  role.add(stream, builder.name("share"), fp32_collective(CollectiveKind::kBroadcast, data, 8, {0, by_tensor}),
           role.whole(block), role.whole(block));
  CHECK(find_mismatches(std::move(builder).finish()).empty());
}

TEST_CASE("ranks may send different amounts in an all_to_all, and nowhere else", "[program][matching]") {
  auto const talk = [](CollectiveKind kind) {
    auto builder = ProgramBuilder{Grid{{{"expert", 2}}}};
    auto const experts = builder.communicator("experts", {"expert"});
    auto const load = builder.variation({builder.along({"expert"}), 0, {4, 8}});
    auto& role = builder.role("main");
    auto const stream = role.stream("comm");
    auto const block = role.buffer(fp32(builder.name("block"), 8, true));
    role.add(stream, builder.name("dispatch"), fp32_collective(kind, experts, {0, load}), role.whole(block),
             role.whole(block));
    return find_mismatches(std::move(builder).finish());
  };
  CHECK(talk(CollectiveKind::kAllToAll).empty());
  CHECK(talk(CollectiveKind::kAllReduce).size() == 1);
}

TEST_CASE("a pipeline's sends and receives match", "[program][matching]") {
  auto stages = Stages{3, 2};
  for (int micro_batch = 0; micro_batch < 4; ++micro_batch) {
    stages.send(0, 1, 10);
    stages.receive(1, 0, 10);
    stages.send(1, 2, 20);
    stages.receive(2, 1, 20);
  }
  CHECK(stages.mismatches().empty());
}

TEST_CASE("a send meets a receive of the same size", "[program][matching]") {
  auto stages = Stages{2};
  stages.send(0, 1, 10);
  stages.receive(1, 0, 11);
  auto const found = stages.mismatches();
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        "message #0 on communicator \"pipeline\" from rank 0 to rank 1: send (op 0) sends 10 fp32, but receive (op 0) "
        "receives 11 fp32");
}

TEST_CASE("a message that nobody receives is found", "[program][matching]") {
  auto stages = Stages{2};
  stages.send(0, 1, 10);
  auto const found = stages.mismatches();
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        "1 messages are sent on communicator \"pipeline\" from rank 0 to rank 1, but 0 are received; send (op 0) has "
        "no counterpart");
}

TEST_CASE("a ring of neighbours in one role matches rank by rank", "[program][matching]") {
  // Place i sends to i + 1 and receives from i - 1, modulo 4, in one group.
  auto builder = ProgramBuilder{Grid{{{"context", 4}}}};
  auto const context = builder.communicator("context", {"context"});
  auto const next = builder.variation({builder.along({"context"}), 0, {1, 2, 3, 0}});
  auto const previous = builder.variation({builder.along({"context"}), 0, {3, 0, 1, 2}});
  auto& role = builder.role("main");
  auto const stream = role.stream("comm");
  auto const block = role.buffer(fp32(builder.name("block"), 10, true));
  auto const parts = std::vector<CommunicationPart>{PointToPoint{true, DataType::kFp32, context, {0, next}, 5},
                                                    PointToPoint{false, DataType::kFp32, context, {0, previous}, 5}};
  auto const accesses = std::vector{reads({block, 0, 5}), writes({block, 5, 5})};
  role.group(stream, builder.name("rotate"), parts, accesses);
  CHECK(find_mismatches(std::move(builder).finish()).empty());
}

TEST_CASE("two ranks that both send first are stuck, and in one group they are not", "[program][matching]") {
  auto grouped = Stages{2};
  grouped.exchange(0, 1);
  grouped.exchange(1, 0);
  CHECK(grouped.mismatches().empty());

  auto apart = Stages{2};
  apart.send(0, 1, 10);
  apart.receive(0, 1, 10);
  apart.send(1, 0, 10);
  apart.receive(1, 0, 10);
  auto const found = apart.mismatches();
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "stuck: send/receive #0 on communicator \"pipeline\" has 1 of 2 ranks. Missing: rank 1, which waits in stream "
        "\"comm\" for send/receive #0 on communicator \"pipeline\" (send)");
}

TEST_CASE("collectives crossed on two communicators are stuck, and the text says who waits for whom",
          "[program][matching]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}}}};
  auto const a = builder.communicator("a", {"pipeline"});
  auto const b = builder.communicator("b", {"pipeline"});
  for (std::int64_t stage = 0; stage < 2; ++stage) {
    auto& role = builder.role("stage" + std::to_string(stage), {{"pipeline", stage}});
    auto const stream = role.stream("comm");
    auto const block = role.buffer(fp32(builder.name("block"), 8, true));
    for (auto const communicator : {stage == 0 ? a : b, stage == 0 ? b : a})
      role.add(stream, builder.name(communicator == a ? "on a" : "on b"),
               fp32_collective(CollectiveKind::kAllReduce, communicator, 8), role.whole(block), role.whole(block));
  }
  auto const program = std::move(builder).finish();
  auto const found = find_mismatches(program);
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "stuck: all_reduce #0 on communicator \"a\" has 1 of 2 ranks. Missing: rank 1, which waits in stream \"comm\" "
        "for all_reduce #0 on communicator \"b\" (on b)");
  CHECK(found[1] ==
        "stuck: all_reduce #0 on communicator \"b\" has 1 of 2 ranks. Missing: rank 0, which waits in stream \"comm\" "
        "for all_reduce #0 on communicator \"a\" (on a)");
  CHECK_THROWS_WITH(check(program), Catch::Contains("a step program has 2 mismatches"));
}

TEST_CASE("crossed collectives on two streams of each rank are not stuck", "[program][matching]") {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}}}};
  auto const a = builder.communicator("a", {"pipeline"});
  auto const b = builder.communicator("b", {"pipeline"});
  for (std::int64_t stage = 0; stage < 2; ++stage) {
    auto& role = builder.role("stage" + std::to_string(stage), {{"pipeline", stage}});
    auto const on_a = role.stream("a");
    auto const on_b = role.stream("b");
    auto const block = role.buffer(fp32(builder.name("block"), 16, true));
    for (auto const communicator : {stage == 0 ? a : b, stage == 0 ? b : a}) {
      auto const half = Region{block, communicator == a ? 0 : 8, 8};
      role.add(communicator == a ? on_a : on_b, builder.name("reduce"),
               fp32_collective(CollectiveKind::kAllReduce, communicator, 8), half, half);
    }
  }
  CHECK(find_mismatches(std::move(builder).finish()).empty());
}

TEST_CASE("collectives on one communicator may lie on several streams", "[program][matching]") {
  auto stages = Stages{2};
  for (std::size_t stage = 0; stage < 2; ++stage) {
    auto const other = stages.roles[stage]->stream("other");
    stages.all_reduce(stage, stages.pipeline, 10);
    stages.all_reduce(stage, stages.pipeline, 10, other);
  }
  CHECK(stages.mismatches().empty());
}

TEST_CASE("a collective waits for its turn on the communicator", "[program][matching]") {
  // Stage 0's first all_reduce stands behind a message that stage 1 sends only after its host saw the second one end.
  // The second ones lie on streams of their own, but cannot run before the first.
  auto stages = Stages{2};
  stages.receive(0, 1, 5);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    auto const other = stages.roles[stage]->stream("other");
    stages.all_reduce(stage, stages.pipeline, 10);
    stages.all_reduce(stage, stages.pipeline, 10, other);
    if (stage == 1) stages.roles[1]->host(stages.builder.name("wait"), std::vector{stages.roles[1]->last_on(other)});
  }
  stages.send(1, 0, 5);
  auto const found = stages.mismatches();
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "stuck: all_reduce #0 on communicator \"pipeline\" has 1 of 2 ranks. Missing: rank 0, which waits in stream "
        "\"comm\" for send/receive #0 on communicator \"pipeline\" (receive)");
  CHECK(found[1] ==
        "stuck: send/receive #0 on communicator \"pipeline\" has 1 of 2 ranks. Missing: rank 1, which waits in stream "
        "\"comm\" for all_reduce #0 on communicator \"pipeline\" (reduce)");
}

TEST_CASE("a host that waits for a message before it answers can be stuck", "[program][matching]") {
  // Stage 0 sends and its host waits for stage 1's answer; stage 1's host waits for a message that stage 0 issues
  // later.
  auto stages = Stages{2};
  auto const answer = stages.receive(0, 1, 5);
  stages.roles[0]->host(stages.builder.name("wait"), std::vector{answer});
  stages.send(0, 1, 6);
  auto const question = stages.receive(1, 0, 6);
  stages.roles[1]->host(stages.builder.name("wait"), std::vector{question});
  stages.send(1, 0, 5);
  auto const found = stages.mismatches();
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "stuck: send/receive #0 on communicator \"pipeline\" has 1 of 2 ranks. Missing: rank 0, which waits in stream "
        "\"comm\" for send/receive #0 on communicator \"pipeline\" (receive)");
}

TEST_CASE("a message inside one part of a group does not wait for the group's other messages", "[program][matching]") {
  // Stage 0 sends to 1 and 2 at once. Stage 2 first receives from 1, which passes on what it got from 0.
  auto stages = Stages{3};
  auto const parts = std::vector<CommunicationPart>{PointToPoint{true, DataType::kFp32, stages.pipeline, 1, 5},
                                                    PointToPoint{true, DataType::kFp32, stages.pipeline, 2, 5}};
  auto const accesses = std::vector{reads({BufferId{0}, 0, 5}), reads({BufferId{0}, 0, 5})};
  stages.roles[0]->group(stages.streams[0], stages.builder.name("both"), parts, accesses);
  stages.receive(1, 0, 5);
  stages.send(1, 2, 5);
  stages.receive(2, 1, 5);
  stages.receive(2, 0, 5);
  CHECK(stages.mismatches().empty());
}
