#include "sim/io/program_json.hpp"

#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"
#include "tests/support/four_ranks.hpp"
#include "tests/support/program_reader.hpp"
#include "tests/support/texts.hpp"

using namespace twinstep;
using namespace twinstep::program;
using namespace twinstep::tests;

namespace {

StepProgram program_in(std::string text) {
  return tests::read_program(io::parse({"program.json", std::move(text)}));
}

/// A program that has one of everything.
StepProgram everything() {
  auto builder = ProgramBuilder{Grid{{{"pipeline", 2}, {"data", 2}, {"tensor", 2}}}};
  auto const pipeline = builder.communicator("pipeline", {"pipeline"});
  auto const data = builder.communicator("data \"and\" tensor", {"data", "tensor"});
  auto const uneven = builder.variation({builder.along({"data", "tensor"}), 0, {2, 3, 2, 3}});  // chunks of 10 over 4
  auto const begins = builder.variation({builder.along({"data", "tensor"}), 2, {0, 0, 1, 1}});  // at 0, 2, 5, 7
  for (std::int64_t stage = 0; stage < 2; ++stage) {
    auto& role = builder.role("stage" + std::to_string(stage), {{"pipeline", stage}});
    auto const compute = role.stream("compute");
    auto const cpu = role.stream("cpu", true);
    role.enter({.unit = builder.name("block")});
    auto const x = role.buffer(fp32(builder.name("x"), 10, true));
    auto const gradient = role.buffer(fp32(builder.name("gradient"), 100));
    auto host_buffer = fp32(builder.name("offloaded"), 10);
    host_buffer.space = MemorySpace::kHost;
    host_buffer.category = MemoryCategory::kOptimizer;
    auto const offloaded = role.buffer(host_buffer);
    role.add(compute, builder.name("product"),
             Gemm{.m = 10, .n = 10, .k = 1, .type = DataType::kTf32, .transpose_b = true},
             {reads(role.whole(x)), reads(role.whole(x)), writes(role.whole(gradient))});
    role.add(compute, builder.name("convolution"),
             Gemm{.m = 5, .n = 5, .k = 4, .type = DataType::kTf32, .windows = Windows::kA, .window_elements = 10},
             {reads({x, 0, 10}), reads({gradient, 0, 20}), writes({gradient, 20, 25})});
    role.add(compute, builder.name("attention"),
             Attention{.batch = 1,
                       .heads = 2,
                       .kv_heads = 1,
                       .query_length = 3,
                       .key_length = 4,
                       .head_size = 5,
                       .causal = false,
                       .backward = true},
             {reads({gradient, 0, 70}), reads({gradient, 0, 30}), reads({gradient, 0, 6}), reads({gradient, 0, 30}),
              writes({gradient, 30, 30}), writes({gradient, 60, 20}), updates({gradient, 80, 20})},
             3);
    auto const copied = role.add(compute, builder.name("offload"), Copy{CopyDirection::kDeviceToHost, 40},
                                 {reads(role.whole(x)), writes(role.whole(offloaded))});
    role.wait(cpu, copied);
    role.add(
        cpu, builder.name("scale"),
        Elementwise{Function::kScale, 10, 8, DataType::kFp32, program::KernelFamily::kModel, true, 0.1, {1, 2, 3, 4}},
        {reads(role.whole(offloaded)), writes(role.whole(offloaded))});
    role.add(compute, builder.name("gather"), fp32_collective(CollectiveKind::kAllGather, data, 10),
             {x, {0, begins}, {0, uneven}}, role.whole(x));
    auto const peer = 1 - stage;
    auto const parts = std::vector<CommunicationPart>{PointToPoint{stage == 0, DataType::kFp32, pipeline, peer, 10},
                                                      PointToPoint{stage == 1, DataType::kFp32, pipeline, peer, 20}};
    auto const out = reads({gradient, 0, stage == 0 ? 10 : 20});
    auto const in = writes({gradient, 50, stage == 0 ? 20 : 10});
    role.group(compute, builder.name("exchange"), parts, stage == 0 ? std::vector{out, in} : std::vector{in, out});
    role.add(compute, builder.name("pause"), Delay{Duration{1'234'567}}, {});
    role.host(builder.name("log"), std::vector{copied}, Duration{5});
  }
  builder.adamw().learning_rate = 1e-4;
  builder.facts() = {
      .tokens = 4096, .model_flops = Flops{1.25e21}, .hardware_flops = Flops{1.5e21}, .compute_type = DataType::kBf16};
  return std::move(builder).finish();
}

}  // namespace

TEST_CASE("a program comes back from its text as it was", "[io][program_json]") {
  CHECK(program_in(io::to_json(four_ranks())) == four_ranks());
  CHECK(program_in(io::to_json(everything())) == everything());
}

TEST_CASE("the text of a small program reads as it is kept", "[io][program_json]") {
  auto file = std::ifstream{TWINSTEP_GOLDEN "/four_ranks.program.json"};
  auto const kept = std::string{std::istreambuf_iterator<char>{file}, {}};
  CHECK(io::to_json(four_ranks()) == kept);
}

TEST_CASE("names that two streams share give way to indices", "[io][program_json]") {
  auto program = four_ranks();
  program.roles[0].streams[1].name = program.roles[0].streams[0].name;
  CHECK(program_in(io::to_json(program)) == program);
}

TEST_CASE("a hand-written program needs no table of names", "[io][program_json]") {
  auto const program = program_in(R"({"kind": "step-program", "mesh": [{"axis": "data", "size": 2}],
    "roles": [{"name": "main", "streams": [{"name": "compute"}],
               "operations": [{"name": "sleep", "stream": "compute", "launches": 1, "work": {"delay": "1.5 us"}}]}]})");
  REQUIRE(program.roles.size() == 1);
  CHECK(program.describe(program.roles[0].operations[0]) == "sleep");
  CHECK(std::get<Delay>(program.roles[0].operations[0].work).duration == Duration{1'500'000});
}

TEST_CASE("a program of several grids is read as it was written", "[io][program_json]") {
  auto builder = ProgramBuilder{std::vector{Grid{{{"pipeline", 2}, {"data", 2}, {"tensor", 2}}, "dense"},
                                            Grid{{{"expert_data", 2}, {"expert", 4}}, "experts"}}};
  builder.communicator("experts", {"expert"});
  builder.communicator("tensor", {"tensor"});
  builder.variation({builder.along({"expert"}), 0, {4, 8, 4, 4}});
  for (std::int64_t i = 0; i < 4; ++i) builder.role("expert" + std::to_string(i), {{"expert", i}});
  auto const program = std::move(builder).finish();
  auto const text = io::to_json(program);
  CHECK(program_in(text) == program);
  CHECK_THAT(text, Catch::Contains(R"({"name": "experts", "grid": "experts", "axes": ["expert"]})"));
  CHECK_THROWS_WITH(program_in(changed(text, R"("grid": "experts")", R"("grid": "expert")")),
                    Catch::Contains("found \"expert\", expected one of the grids"));
  CHECK_THROWS_WITH(program_in(changed(text, R"("axes": ["tensor"])", R"("axes": ["tenser"])")),
                    Catch::Contains("found \"tenser\", expected one of the axes; did you mean \"tensor\"?"));
  CHECK_THROWS_WITH(program_in(changed(text, R"("expert", "size": 4)", R"("expert", "size": 2)")),
                    Catch::Contains("found a grid of 4 ranks, expected 8 as in grid \"dense\""));
}

TEST_CASE("units, passes and micro-batches are read as they were written", "[io][program_json]") {
  auto builder = ProgramBuilder{Grid{}};
  auto& role = builder.role("main");
  auto const stream = role.stream("compute");
  for (std::int32_t batch = 0; batch < 2; ++batch) {
    role.enter({builder.name("layer.0"), Pass::kRecompute, batch});
    role.add(stream, builder.name("sleep"), Delay{Duration{1000}}, {});
  }
  role.enter({.pass = Pass::kUpdate});
  role.add(stream, builder.name("sleep"), Delay{Duration{1000}}, {});
  auto const program = std::move(builder).finish();
  auto const text = io::to_json(program);
  CHECK(program_in(text) == program);
  CHECK_THAT(text, Catch::Contains(R"("unit": "layer.0", "pass": "recompute", "micro_batch": 1)"));
}

TEST_CASE("the text of a scope says unit and pass where a file has no fields", "[io][program_json]") {
  auto const program = program_in(R"({"kind": "step-program", "mesh": [],
    "roles": [{"name": "main", "streams": [{"name": "compute"}], "operations": [
      {"name": "a", "scope": "layer.0.recompute", "stream": "compute", "launches": 1, "work": {"delay": "1 us"}},
      {"name": "b", "scope": "optimizer", "stream": "compute", "launches": 1, "work": {"delay": "1 us"}},
      {"name": "c", "scope": "micro_batch.3", "stream": "compute", "launches": 1, "work": {"delay": "1 us"}},
      {"name": "d", "scope": "layer.0", "stream": "compute", "launches": 1, "work": {"delay": "1 us"}}]}]})");
  auto const& operations = program.roles[0].operations;
  auto const scope = [&](std::size_t op) { return program.scopes[operations[op].scope.index()]; };
  auto const layer = scope(0).unit;
  CHECK(program.text(layer) == "layer.0");
  CHECK(scope(0) == Scope{layer, Pass::kRecompute});
  CHECK(scope(1) == Scope{.pass = Pass::kUpdate});
  CHECK(scope(2) == Scope{.micro_batch = 3});
  CHECK(scope(3) == Scope{layer});
  CHECK(program.describe(operations[0]) == "layer.0.recompute/a");
}

TEST_CASE("a wrong program file is refused at the place that is wrong", "[io][program_json]") {
  auto const text = io::to_json(four_ranks());
  auto const complaint = [&](std::string_view from, std::string_view to) -> std::string {
    try {
      static_cast<void>(program_in(changed(text, from, to)));
    } catch (InputError const& error) {
      return error.what();
    }
    return "no complaint";
  };
  CHECK_THAT(
      complaint("\"step-program\"", "\"timeline\""),
      Catch::Contains("program.json:2:") && Catch::Contains("/kind: found \"timeline\", expected \"step-program\""));
  CHECK_THAT(complaint("\"all_gather\"", "\"all_gathr\""), Catch::Contains("did you mean \"all_gather\"?"));
  CHECK_THAT(complaint("\"stream\": \"comm\"", "\"stream\": \"com\""),
             Catch::Contains("/roles/0/operations/3/stream: found \"com\", expected one of the streams; did you mean "
                             "\"comm\"?"));
  CHECK_THAT(complaint("\"waits\": [4]", "\"waits\": [5]"),
             Catch::Contains("/waits/0: found 5, expected one of the 5 operations issued before"));
  CHECK_THAT(complaint("\"writes\": 0", "\"writes\": 9"), Catch::Contains("found 9, expected one of the 5 buffers"));
  CHECK_THAT(complaint("\"size\": 4", "\"size\": 9999999"), Catch::Contains("a mesh of more than 1048576 ranks"));
  CHECK_THAT(complaint("\"size\": 4}", "\"size\": 4}, {\"axis\": \"data\", \"size\": 2}"),
             Catch::Contains("found axis \"data\" twice"));
  CHECK_THAT(complaint("\"elements\": 6", "\"elements\": 99999999999999999"), Catch::Contains("write it smaller"));
  CHECK_THAT(complaint("\"launches\": 1", "\"lanches\": 1"), Catch::Contains("launches"));
}

TEST_CASE("defects of a program that is read are the reader's complaint", "[io][program_json]") {
  auto const text = changed(io::to_json(four_ranks()), "\"m\": 2", "\"m\": 3");
  CHECK_THROWS_WITH(program_in(text), Catch::Contains("found a step program with 2 defects") &&
                                          Catch::Contains("A \"input\" has 6 elements on rank 0, expected 9"));
}
