#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"
#include "validate/cuda/rank_run.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using tests::SmallProgram;

namespace {

cuda::MemoryPlan plan_of(program::StepProgram const& program) {
  return cuda::plan_memory(program, program.roles.front(), RankId{0});
}

/// A buffer of `kib` KiB.
BufferId kibibytes(SmallProgram& small, program::RoleBuilder& role, std::string_view name, std::int64_t kib) {
  return small.temporary(role, name, kib * 256);
}

}  // namespace

TEST_CASE("a buffer takes the place of one that the same stream is done with", "[cuda][memory]") {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const first = kibibytes(small, role, "first", 4);
  auto const second = kibibytes(small, role, "second", 3);
  auto const third = kibibytes(small, role, "third", 2);
  small.fill(role, main, "fill", first);
  small.fill(role, main, "fill", second);
  small.fill(role, main, "fill", third);
  auto const plan = plan_of(std::move(small.builder).finish());
  CHECK(plan.offsets[second.index()] == plan.offsets[first.index()]);
  CHECK(plan.offsets[third.index()] == plan.offsets[first.index()]);
  CHECK(plan.device == 4_KiB);
}

TEST_CASE("two buffers that are done with make room for one that is as large as both", "[cuda][memory]") {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const left = kibibytes(small, role, "left", 1);
  auto const right = kibibytes(small, role, "right", 1);
  auto const both = kibibytes(small, role, "both", 2);
  small.fill(role, main, "fill", left);
  small.scale(role, main, "copy", left, right);
  small.fill(role, main, "fill", both);
  auto const plan = plan_of(std::move(small.builder).finish());
  CHECK(plan.offsets[both.index()] == Bytes{});
  CHECK(plan.device == 2_KiB);
}

TEST_CASE("memory is not shared with a stream that may still use it", "[cuda][memory]") {
  for (auto const waits : {false, true}) {
    auto small = SmallProgram{1};
    auto& role = small.builder.role("worker");
    auto const main = role.stream("main");
    auto const side = role.stream("side");
    auto const ours = kibibytes(small, role, "ours", 1);
    auto const theirs = kibibytes(small, role, "theirs", 1);
    auto const filled = small.fill(role, main, "fill", ours);
    if (waits) role.wait(side, filled);
    small.fill(role, side, "fill", theirs);
    auto const plan = plan_of(std::move(small.builder).finish());
    CHECK((plan.offsets[theirs.index()] == plan.offsets[ours.index()]) == waits);
    CHECK(plan.device == (waits ? 1_KiB : 2_KiB));
  }
}

TEST_CASE("what the host has waited for is over on every stream", "[cuda][memory]") {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const side = role.stream("side");
  auto const ours = kibibytes(small, role, "ours", 1);
  auto const theirs = kibibytes(small, role, "theirs", 1);
  role.host(small.builder.name("look"), std::array{small.fill(role, main, "fill", ours)});
  small.fill(role, side, "fill", theirs);
  CHECK(plan_of(std::move(small.builder).finish()).device == 1_KiB);
}

TEST_CASE("inputs keep their place from before the step on, and host memory is a piece of its own", "[cuda][memory]") {
  auto small = SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const early = kibibytes(small, role, "early", 1);
  auto const tokens = role.buffer({.name = small.builder.name("tokens"),
                                   .elements = 256,
                                   .type = DataType::kFp32,
                                   .category = program::MemoryCategory::kInputs});
  auto const saved = role.buffer({.name = small.builder.name("saved"),
                                  .elements = 512,
                                  .type = DataType::kFp32,
                                  .space = program::MemorySpace::kHost});
  small.fill(role, main, "fill", early);
  auto const late = kibibytes(small, role, "late", 1);
  small.scale(role, main, "read", tokens, late);
  role.add(main, small.builder.name("save"), program::Copy{program::CopyDirection::kDeviceToHost, 1024},
           {program::reads(role.whole(late)), program::writes({saved, 0, 256})});
  auto const plan = plan_of(std::move(small.builder).finish());
  CHECK(plan.offsets[tokens.index()] == Bytes{});
  CHECK(plan.offsets[early.index()] == 1_KiB);
  CHECK(plan.offsets[late.index()] == 1_KiB);
  CHECK(plan.device == 2_KiB);
  CHECK(plan.host == 2_KiB);
}
