#include <array>

#include "sim/base/input_error.hpp"
#include "sim/program/stuck_program.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cpu_executor.hpp"
#include "tests/support/programs.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using program::Collective;

namespace {

timeline::Timeline run(program::StepProgram const& program) {
  auto environment = cpu::Environment{};
  return cpu::run(program, environment);
}

/// Two ranks in two roles, "first" and "second", on communicator "data".
struct TwoRoles {
  tests::SmallProgram small{2};
  CommunicatorId communicator = small.builder.communicator("data", {"data"});
  program::RoleBuilder& first = small.builder.role("first", {{"data", 0}});
  program::RoleBuilder& second = small.builder.role("second", {{"data", 1}});
  StreamId first_comm = first.stream("comm");
  StreamId second_comm = second.stream("comm");

  void all_reduce(program::RoleBuilder& role, StreamId stream, std::string_view name, std::int64_t elements) {
    auto const buffer = small.temporary(role, name, elements);
    role.add(stream, small.builder.name(name),
             Collective{.type = DataType::kFp32, .communicator = communicator, .elements = elements},
             role.whole(buffer), role.whole(buffer));
  }
  void message(program::RoleBuilder& role, StreamId stream, std::string_view name, bool sends, std::int64_t elements) {
    auto const buffer = small.temporary(role, name, elements);
    auto const part = program::CommunicationPart{program::PointToPoint{.sends = sends,
                                                                       .type = DataType::kFp32,
                                                                       .communicator = communicator,
                                                                       .peer = sends ? 1 : 0,
                                                                       .elements = elements}};
    auto const access = sends ? program::reads(role.whole(buffer)) : program::writes(role.whole(buffer));
    role.group(stream, small.builder.name(name), std::span{&part, 1}, std::span{&access, 1});
  }
  program::StepProgram finish() { return std::move(small.builder).finish(); }
};

/// One operation `work` on one fp32 buffer of 4 elements.
program::StepProgram one_operation(program::Work const& work) {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const buffer = small.temporary(role, "buffer", 4);
  role.enter({.unit = small.builder.name("layer.0")});
  role.add(role.stream("main"), small.builder.name("op"), work, {program::updates(role.whole(buffer))});
  return std::move(small.builder).finish();
}

}  // namespace

TEST_CASE("different collectives that meet are named with their ranks", "[cpu][failures]") {
  auto two = TwoRoles{};
  two.all_reduce(two.first, two.first_comm, "loss", 2);
  auto const shard = two.small.temporary(two.second, "shard", 1);
  auto const whole = two.small.temporary(two.second, "whole", 2);
  two.second.add(
      two.second_comm, two.small.builder.name("parameters"),
      Collective{
          .kind = CollectiveKind::kAllGather, .type = DataType::kFp32, .communicator = two.communicator, .elements = 2},
      two.second.whole(shard), two.second.whole(whole));
  CHECK_THROWS_WITH(run(two.finish()),
                    "operation 0 on communicator \"data\": all_reduce \"loss\" of 2 fp32 elements on rank 0 meets "
                    "all_gather \"parameters\" of 2 fp32 elements on rank 1; all ranks of a communicator issue the "
                    "same collectives in the same order");
}

TEST_CASE("collectives of different sizes do not match", "[cpu][failures]") {
  auto two = TwoRoles{};
  two.all_reduce(two.first, two.first_comm, "bucket.0", 2);
  two.all_reduce(two.second, two.second_comm, "bucket.1", 3);
  CHECK_THROWS_WITH(run(two.finish()), Catch::Contains("all_reduce \"bucket.0\" of 2 fp32 elements on rank 0 meets "
                                                       "all_reduce \"bucket.1\" of 3 fp32 elements on rank 1"));
}

TEST_CASE("a message must have one size on both sides", "[cpu][failures]") {
  auto two = TwoRoles{};
  two.message(two.first, two.first_comm, "send", true, 4);
  two.message(two.second, two.second_comm, "receive", false, 5);
  CHECK_THROWS_WITH(run(two.finish()),
                    "message 0 from rank 0 to rank 1: \"send\" sends 4 elements of fp32, but "
                    "\"receive\" receives 5 of fp32");
}

TEST_CASE("a rank that waits for one that has finished ends with both names", "[cpu][failures]") {
  CHECK_THROWS_MATCHES(
      run(tests::missing_collective()), program::StuckProgram,
      Catch::Matchers::Message("stuck: rank 0 waits in stream \"comm\" for rank 1 to come to all_gather \"parameters\" "
                               "(operation 1 on communicator \"data\"); rank 1 has finished"));
}

TEST_CASE("a send without a receive ends with who waits for whom", "[cpu][failures]") {
  CHECK_THROWS_WITH(run(tests::send_without_receive()),
                    "stuck: rank 0 waits in stream \"comm\" for rank 1 to come to send_recv \"send\" (message 0 from "
                    "rank 0 to rank 1); rank 1 has finished");
}

TEST_CASE("crossed collectives end with both waits", "[cpu][failures]") {
  CHECK_THROWS_WITH(run(tests::crossed_collectives()),
                    "stuck: rank 0 waits in stream \"comm\" for rank 1 to come to all_reduce \"a\" (operation 0 on "
                    "communicator \"left\"); rank 1 waits in stream \"comm\" for rank 0 to come to all_reduce \"b\" "
                    "(operation 0 on communicator \"right\")");
}

TEST_CASE("a host that waits for a stuck kernel is listed too", "[cpu][failures]") {
  auto two = TwoRoles{};
  two.all_reduce(two.first, two.first_comm, "loss", 2);
  auto const last = two.first.last_on(two.first_comm);
  two.first.host(two.small.builder.name("item"), std::span{&last, 1});
  CHECK_THROWS_WITH(run(two.finish()),
                    Catch::Contains("rank 0 waits in stream \"comm\" for rank 1 to come to all_reduce \"loss\"") &&
                        Catch::Contains("rank 0 waits on the host for \"loss\""));
}

TEST_CASE("an error ends ranks that sleep or wait", "[cpu][failures]") {
  auto two = TwoRoles{};
  auto const side = two.first.stream("side");
  two.first.add(side, two.small.builder.name("sleep"), program::Delay{10'000_ms}, std::span<program::Access const>{});
  two.all_reduce(two.first, two.first_comm, "first", 2);
  two.all_reduce(two.second, two.second_comm, "second", 3);
  CHECK_THROWS_AS(run(two.finish()), InputError);
}

TEST_CASE("after an error the step does not count", "[cpu][failures]") {
  auto environment = cpu::Environment{};
  CHECK_THROWS(cpu::run(tests::send_without_receive(), environment));
  CHECK(environment.steps() == 0);
}

TEST_CASE("element types other than fp32 and fp64 are refused with the way out", "[cpu][failures]") {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  role.enter({.unit = small.builder.name("layer.0")});
  small.persistent(role, "weight", 4, DataType::kBf16);
  CHECK_THROWS_WITH(run(std::move(small.builder).finish()),
                    "role \"worker\": buffer \"weight\" in scope \"layer.0\" holds bf16: the CPU executor computes in "
                    "fp32 and fp64 only; compile the plan with precision fp32 or fp64");
  CHECK_THROWS_WITH(run(one_operation(program::Elementwise{.function = program::Function::kFill, .elements = 4})),
                    Catch::Contains("operation \"layer.0/op\" is in bf16"));
}

TEST_CASE("operations that only have a cost are refused", "[cpu][failures]") {
  CHECK_THROWS_WITH(run(one_operation(program::Elementwise{})),
                    Catch::Contains("operation \"layer.0/op\" (cost_only) only has a cost"));
  CHECK_THROWS_WITH(run(one_operation(program::Gemm{.windows = program::Windows::kA, .window_elements = 1})),
                    Catch::Contains("(a convolution) only has a cost"));
}

TEST_CASE("a wrong number or size of operands is refused", "[cpu][failures]") {
  CHECK_THROWS_WITH(run(one_operation(program::Gemm{.type = DataType::kFp32})),
                    Catch::Contains("takes 3 operands, but has 1"));
  CHECK_THROWS_WITH(run(one_operation(program::Attention{.type = DataType::kFp32})),
                    Catch::Contains("takes 3 operands, but has 1"));
  CHECK_THROWS_WITH(run(one_operation(program::Elementwise{
                        .function = program::Function::kFill, .elements = 5, .type = DataType::kFp32})),
                    "operation \"layer.0/op\": operand 1 has 4 elements of fp32, but 5 of fp32 are needed");
}

TEST_CASE("two persistent buffers of one name are refused", "[cpu][failures]") {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  small.persistent(role, "weight", 4);
  small.persistent(role, "weight", 5);
  CHECK_THROWS_WITH(run(std::move(small.builder).finish()),
                    Catch::Contains("two persistent buffers are called \"weight\" in scope \"\""));
}
