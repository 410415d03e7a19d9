#include <iostream>
#include <map>

#include "sim/base/module.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/device/kernel_checks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/timeline_checks.hpp"
#include "validate/cuda/cuda_executor.hpp"
#include "validate/cuda/load_device.hpp"

// The suites of the double on the GPUs of this machine. Where there are none, it says so and CTest counts it as
// skipped.

using namespace twinstep;

namespace {

/// Null, with the reason printed, where there is no GPU.
cuda::DeviceApi* the_device() {
  static auto const device = []() -> std::unique_ptr<cuda::DeviceApi> {
    try {
      return cuda::load_device();
    } catch (Absent const& absent) {
      std::cout << "SKIPPED: " << absent.what() << '\n';
      return nullptr;
    }
  }();
  return device.get();
}

}  // namespace

TEST_CASE("the GPUs compute what programs mean", "[device]") {
  if (auto* const device = the_device()) tests::check_kernels(*device);
}

TEST_CASE("the CUDA executor obeys the meaning of programs on real GPUs", "[device][conformance]") {
  auto* const device = the_device();
  if (device == nullptr) return;
  auto const devices = device->device_count();
  auto connections = std::map<int, cuda::Connection>{};  // by ranks: making one takes longer than a program
  auto left_out = 0;
  for (auto const& [name, program] : tests::conformance_cases()) {
    auto const world = static_cast<int>(program.grids.world_size());
    if (world > devices) {
      ++left_out;  // NCCL before 2.30 refuses two ranks on one GPU
      continue;
    }
    INFO(name);
    if (!connections.contains(world))
      connections.emplace(world, cuda::connect(*device, {.world = world, .local_ranks = world}, {}));
    auto& connection = connections.at(world);
    auto environment = cuda::Environment{*device, connection.ranks};
    auto executor = cuda::Executor{*device, connection};
    for (int step = 0; step < 2; ++step)
      CHECK(tests::find_violations(program, executor.run(program, environment)) == std::vector<std::string>{});
  }
  if (left_out > 0) std::cout << left_out << " programs need more than the " << devices << " GPUs of this machine\n";
}
