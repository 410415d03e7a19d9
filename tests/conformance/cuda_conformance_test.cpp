#include "tests/conformance/conformance.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"
#include "validate/cuda/cuda_executor.hpp"

using namespace twinstep;

TEST_CASE("the CUDA executor obeys the meaning of programs, on devices that are not there", "[conformance][cuda]") {
  tests::check_conformance([](program::StepProgram const& program) {
    auto const world = static_cast<int>(program.grids.world_size());
    auto device = tests::FakeDevice{world};
    auto connection = cuda::connect(device, {.world = world, .local_ranks = world}, {});
    auto environment = cuda::Environment{device, connection.ranks};
    return cuda::Executor{device, connection}.run(program, environment);
  });
}
