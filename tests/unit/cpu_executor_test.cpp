#include "tests/support/cpu_executor.hpp"

#include <cmath>

#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"

using namespace twinstep;
using namespace twinstep::literals;

namespace {

using Values = std::vector<double>;

Values result(program::StepProgram const& program, std::string_view buffer, std::string_view scope = "") {
  auto environment = cpu::Environment{};
  static_cast<void>(cpu::run(program, environment));
  return environment.read(RankId{0}, buffer, scope);
}

/// "counter" doubles each step.
program::StepProgram doubling() {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const counter = small.persistent(role, "counter", 2);
  small.scale(role, role.stream("main"), "double", counter, counter, 2);
  return std::move(small.builder).finish();
}

void fill_with_one(program::FreshBuffer const&, std::span<double> values) {
  for (auto& value : values) value = 1;
}

}  // namespace

TEST_CASE("an operation sees the results of what it waits for on another stream", "[cpu]") {
  // a = 3, b = 2a = 6, c = a + b.
  CHECK(result(tests::two_streams_with_waits(), "c") == Values(1000, 9));
}

TEST_CASE("stages of a pipeline exchange activations and gradients in order", "[cpu]") {
  // The first stage sends 1 and then 2; the second returns ten times what came.
  CHECK(result(tests::pipeline_of_two_stages(), "gradient", "batch.0") == Values(12, 10));
  CHECK(result(tests::pipeline_of_two_stages(), "gradient", "batch.1") == Values(12, 20));
}

TEST_CASE("a kernel issued after a host synchronisation runs after it", "[cpu]") {
  CHECK(result(tests::host_synchronisation(), "loss") == Values(100, 2));
}

TEST_CASE("persistent buffers keep their numbers from step to step", "[cpu]") {
  auto environment = cpu::Environment{fill_with_one};
  for (auto i = 0; i < 3; ++i) static_cast<void>(cpu::run(doubling(), environment));
  CHECK(environment.steps() == 3);
  CHECK(environment.read(RankId{0}, "counter", "") == Values{8, 8});
  CHECK(environment.read(RankId{0}, "counter", "", 1, 1) == Values{8});
}

TEST_CASE("what was never written reads as NaN", "[cpu]") {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const never_written = small.temporary(role, "never_written", 1);
  auto const out = small.persistent(role, "out", 1);
  small.scale(role, role.stream("main"), "use", never_written, out);
  CHECK(std::isnan(result(std::move(small.builder).finish(), "out")[0]));
}

TEST_CASE("inputs come from outside at the start of their life in each step", "[cpu]") {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const tokens = role.buffer({.name = small.builder.name("tokens"),
                                   .scope = {},
                                   .elements = 1,
                                   .type = DataType::kFp32,
                                   .category = program::MemoryCategory::kInputs});
  auto const out = small.persistent(role, "out", 1);
  small.scale(role, role.stream("main"), "use", tokens, out);
  auto const step = std::move(small.builder).finish();
  auto batch = 0.0;
  auto environment = cpu::Environment{[&](program::FreshBuffer const& buffer, std::span<double> values) {
    if (buffer.name == "tokens") values[0] = ++batch;
  }};
  for (auto const expected : {1.0, 2.0}) {
    static_cast<void>(cpu::run(step, environment));
    CHECK(environment.read(RankId{0}, "out", "") == Values{expected});
  }
}

TEST_CASE("memory is taken at the issue of a buffer's first use and given back at that of its last", "[cpu]") {
  auto environment = cpu::Environment{};
  auto const timeline = cpu::run(tests::lifetimes_of_buffers(), environment);
  // On each of the two ranks: weight and gradient persist; the activation (1,200 bytes) is used by operations 0 and 1,
  // the logits (1,200 bytes) by operations 1 to 3.
  auto changes = std::vector<std::int64_t>{};
  for (auto const& sample : timeline.memory)
    if (sample.track.index() == 1) changes.push_back(sample.change.count());
  CHECK(changes == std::vector<std::int64_t>{4000, 1200, 1200, 1200, -1200, -1200});
}

TEST_CASE("the manifest says that a real clock ran and what was computed", "[cpu]") {
  auto environment = cpu::Environment{};
  auto const timeline = cpu::run(tests::kernels_and_copies(), environment);
  CHECK(timeline.manifest.clock == timeline::Clock::kReal);
  CHECK(timeline.manifest.world_size == 2);
  CHECK(timeline.manifest.hardware_flops == Flops{2 * 2 * 4 * 5 * 3});  // 2 ranks, 2 m n k
  CHECK(timeline.tracks.size() == 2);
  CHECK(timeline.events == 2 * 5);
}

TEST_CASE("the same step gives the same bits every time", "[cpu]") {
  auto const run_once = [] {
    auto environment = cpu::Environment{[](program::FreshBuffer const& buffer, std::span<double> values) {
      for (auto& value : values) value = 1.0 / static_cast<double>(3 + buffer.rank.index());
    }};
    static_cast<void>(cpu::run(tests::uneven_shards(4), environment));
    return environment.read(RankId{2}, "parameters", "");
  };
  auto const first = run_once();
  for (auto i = 0; i < 20; ++i) CHECK(run_once() == first);
}

TEST_CASE("an unknown persistent buffer is refused by its name", "[cpu]") {
  auto environment = cpu::Environment{fill_with_one};
  static_cast<void>(cpu::run(doubling(), environment));
  CHECK(environment.holds(RankId{0}, "counter", ""));
  CHECK_THROWS_WITH(environment.read(RankId{0}, "weight", "layer.0"),
                    Catch::Contains("rank 0 holds no persistent buffer \"weight\" in scope \"layer.0\""));
}

TEST_CASE("another plan needs a fresh environment", "[cpu]") {
  auto environment = cpu::Environment{fill_with_one};
  static_cast<void>(cpu::run(tests::in_place_all_reduce(2, 7), environment));
  CHECK_THROWS_WITH(cpu::run(tests::in_place_all_reduce(2, 8), environment),
                    Catch::Contains("has 8 elements of fp32, but an earlier step left 7 of fp32"));
}
