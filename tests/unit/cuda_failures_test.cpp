#include "sim/base/input_error.hpp"
#include "sim/program/stuck_program.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"
#include "tests/support/programs.hpp"
#include "validate/cuda/cuda_executor.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using tests::FakeDevice;

namespace {

timeline::Timeline run(FakeDevice& device, program::StepProgram const& program, cuda::ExecutorOptions options = {}) {
  auto const world = static_cast<int>(program.grids.world_size());
  auto connection = cuda::connect(device, {.world = world, .local_ranks = world}, {});
  auto environment = cuda::Environment{device, connection.ranks};
  return cuda::Executor{device, connection, options}.run(program, environment);
}

/// One operation `work` on one buffer of 4 elements.
program::StepProgram one_operation(program::Work const& work, DataType type = DataType::kFp32,
                                   bool is_on_host = false) {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const buffer = small.temporary(role, "buffer", 4, type);
  role.enter({.unit = small.builder.name("layer.0")});
  role.add(role.stream("main", is_on_host), small.builder.name("op"), work, {program::updates(role.whole(buffer))});
  return std::move(small.builder).finish();
}

void check_refused(program::StepProgram const& program, std::string const& words) {
  auto device = FakeDevice{1};
  try {
    static_cast<void>(run(device, program));
    FAIL("was not refused");
  } catch (InputError const& error) {
    CHECK(std::string{error.what()} == "role \"worker\": operation \"layer.0/op\" " + words);
  }
}

}  // namespace

TEST_CASE("a call that fails is named with what it said", "[cuda][failures]") {
  auto device = FakeDevice{2};
  device.fail_at_once("multiply");
  CHECK_THROWS_WITH(run(device, tests::kernels_and_copies()), "multiply: refused");
  CHECK_THROWS_AS(run(device, tests::kernels_and_copies()), cuda::DeviceError);
}

TEST_CASE("what fails on the device later is thrown by the step that enqueued it", "[cuda][failures]") {
  auto device = FakeDevice{2};
  device.fail_later("multiply");
  CHECK_THROWS_WITH(run(device, tests::kernels_and_copies()), "multiply: broke off");
}

TEST_CASE("a rank that fails ends the step of all ranks that wait for it", "[cuda][failures]") {
  auto device = FakeDevice{3};
  device.fail_at_once("all_reduce");  // of the barrier
  CHECK_THROWS_WITH(run(device, tests::in_place_all_reduce(3, 8)), "all_reduce: refused");
}

TEST_CASE("when nothing happens any more, the error says in which stream and operation which rank waits",
          "[cuda][failures]") {
  auto const program = tests::in_place_all_reduce(2, 8);
  auto device = FakeDevice{2};
  auto connection = cuda::connect(device, {.world = 2, .local_ranks = 2}, {});
  auto environment = cuda::Environment{device, connection.ranks};
  auto executor = cuda::Executor{device, connection, {.patience = Seconds{0.02}}};
  static_cast<void>(executor.run(program, environment));
  device.hang_device(1);
  // Rank 1 never comes to the barrier.
  CHECK_THROWS_WITH(executor.run(program, environment),
                    Catch::Contains("nothing has happened for 0.02 s") &&
                        Catch::Contains("not all ranks have come to the beginning of the step"));
  CHECK_THROWS_WITH(executor.run(program, environment), Catch::Contains("connect again"));
}

TEST_CASE("a stream that hangs in the middle of a step is named with its operation", "[cuda][failures]") {
  auto small = tests::SmallProgram{2};
  auto const communicator = small.builder.communicator("data", {"data"});
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const comm = role.stream("comm");
  auto const gradient = small.persistent(role, "gradient", 4);
  auto const filled = small.fill(role, main, "backward", gradient);
  role.wait(comm, filled);
  auto const reduced =
      role.add(comm, small.builder.name("reduce"),
               program::Collective{.type = DataType::kFp32, .communicator = communicator, .elements = 4},
               role.whole(gradient), role.whole(gradient));
  role.wait(main, reduced);
  small.scale(role, main, "update", gradient, gradient, 2);
  auto const program = std::move(small.builder).finish();

  auto device = FakeDevice{2};
  device.hang_device(1, 1);  // the barrier still works
  CHECK_THROWS_WITH(run(device, program, {.patience = Seconds{0.02}}),
                    Catch::Contains("stream \"comm\" is in all_reduce \"reduce\"") &&
                        Catch::Contains("stream \"main\" has not begun elementwise \"update\""));
}

TEST_CASE("a job of which not all ranks come says which have come", "[cuda][failures]") {
  auto device = FakeDevice{4};
  CHECK_THROWS_WITH(cuda::connect(device, {.world = 4, .local_ranks = 2, .first_rank = 2}, {}, Seconds{0.02}),
                    "not all 4 ranks have come within 0.02 s, those of this process (2 to 3) have");
}

TEST_CASE("ranks that do not match are found before anything is enqueued", "[cuda][failures]") {
  auto device = FakeDevice{2};
  CHECK_THROWS_AS(run(device, tests::missing_collective()), program::StuckProgram);
  CHECK(device.log(0).empty());
}

TEST_CASE("a job of another size is refused", "[cuda][failures]") {
  auto device = FakeDevice{1};
  auto connection = cuda::connect(device, {}, {});
  auto environment = cuda::Environment{device, connection.ranks};
  CHECK_THROWS_WITH((cuda::Executor{device, connection}.run(tests::in_place_all_reduce(2, 8), environment)),
                    "the program is for 2 ranks, but the job has 1; start as many");
}

TEST_CASE("what the GPU executor cannot run is refused with a way out", "[cuda][failures]") {
  check_refused(one_operation(program::Attention{}),
                "is fused attention, which cuBLAS does not have; measure it as separate kernels with "
                "training.flash_attention = false, or simulate this one");
  check_refused(one_operation(program::Gemm{.type = DataType::kFp32, .windows = program::Windows::kA}),
                "is a convolution, which cuBLAS does not have; simulate this one");
  check_refused(one_operation(program::Delay{}, DataType::kFp32, true),
                "runs on the CPU, and this executor has kernels for GPUs only; simulate this one");
  check_refused(
      one_operation(program::Copy{program::CopyDirection::kHostToNvme, 16}),
      "moves data from or to NVMe, which this executor does not; simulate it, or keep the data in host memory");
  check_refused(
      one_operation(program::Elementwise{.function = program::Function::kFill, .elements = 4}, DataType::kFp8),
      "computes in fp8; use fp64, fp32, tf32, bf16 or fp16");
}

TEST_CASE("a persistent buffer that changed its shape is refused", "[cuda][failures]") {
  auto const of = [](std::int64_t elements) { return tests::in_place_all_reduce(1, elements); };
  auto device = FakeDevice{1};
  auto connection = cuda::connect(device, {}, {});
  auto environment = cuda::Environment{device, connection.ranks};
  auto executor = cuda::Executor{device, connection};
  static_cast<void>(executor.run(of(8), environment));
  CHECK_THROWS_WITH(executor.run(of(9), environment),
                    Catch::Contains("has 9 elements of fp32 in device memory, but an earlier step left 8"));
  environment.clear();
  CHECK_NOTHROW(executor.run(of(9), environment));
}
