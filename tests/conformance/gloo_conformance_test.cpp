#include <optional>

#include "tests/conformance/conformance.hpp"
#include "tests/support/catch.hpp"
#include "validate/cpu/gloo/gloo_job.hpp"
#include "validate/launch/local_ranks.hpp"

using namespace twinstep;

TEST_CASE("the Gloo executor obeys the meaning of programs", "[conformance][gloo]") {
  tests::check_conformance([](program::StepProgram const& program) {
    auto timeline = timeline::Timeline{};
    launch::run_local_ranks(static_cast<int>(program.grids.world_size()), [&](launch::Launch const& launch) {
      auto job = cpu::GlooJob{launch};
      auto environment = cpu::Environment{};
      timeline = job.run(program, environment);
    });
    return timeline;
  });
}
