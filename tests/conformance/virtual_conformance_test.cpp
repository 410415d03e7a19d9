#include "sim/engine/virtual_executor.hpp"
#include "tests/conformance/conformance.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;

TEST_CASE("the virtual executor obeys the meaning of programs", "[conformance][engine]") {
  auto const machine = engine::Machine{tests::crossbar_node(4, 100_GBps, 1_us)};
  tests::check_conformance([&](program::StepProgram const& step) { return engine::run(step, machine); });
}
