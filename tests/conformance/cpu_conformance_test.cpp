#include "tests/conformance/conformance.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cpu_executor.hpp"

using namespace twinstep;

TEST_CASE("the CPU executor obeys the meaning of programs", "[conformance][cpu]") {
  tests::check_conformance([](program::StepProgram const& program) {
    auto environment = cpu::Environment{};
    return cpu::run(program, environment);
  });
}
