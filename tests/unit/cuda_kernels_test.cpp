#include "tests/device/kernel_checks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"

using namespace twinstep;

TEST_CASE("the double computes what real GPUs are held to", "[cuda]") {
  auto device = tests::FakeDevice{4};
  tests::check_kernels(device);
}
