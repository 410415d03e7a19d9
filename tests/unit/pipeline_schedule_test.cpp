#include <algorithm>

#include "strategies/mesh/schedule.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::strategies;

namespace {

/// "F0 F1 B0 …".
std::string text(Schedule const& schedule) {
  auto out = std::string{};
  for (auto const& pass : schedule) {
    if (!out.empty()) out += ' ';
    out += pass.kind == ScheduledPass::Kind::kForward ? 'F' : 'B';
    out += std::to_string(pass.micro_batch);
  }
  return out;
}

/// Forwards without their backward, at most.
int most_in_flight(Schedule const& schedule) {
  auto most = 0;
  auto now = 0;
  for (auto const& pass : schedule) {
    now += pass.kind == ScheduledPass::Kind::kForward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

TEST_CASE("1F1B warms up with a forward for every later stage, then takes one of each in turn", "[mesh][schedule]") {
  CHECK(text(one_forward_one_backward(3, 4, 3)) == "F0 B0 F1 B1 F2 B2");
  CHECK(text(one_forward_one_backward(2, 4, 3)) == "F0 F1 B0 F2 B1 B2");
  CHECK(text(one_forward_one_backward(0, 4, 3)) == "F0 F1 F2 B0 B1 B2");  // fewer micro-batches than stages
  // 8 stages, 32 micro-batches: 8, 7, … 1 in flight.
  for (int stage = 0; stage < 8; ++stage) CHECK(most_in_flight(one_forward_one_backward(stage, 8, 32)) == 8 - stage);
}

TEST_CASE("GPipe has all micro-batches in flight, data parallelism one", "[mesh][schedule]") {
  CHECK(text(gpipe(3)) == "F0 F1 F2 B0 B1 B2");
  CHECK(text(one_after_another(3)) == "F0 B0 F1 B1 F2 B2");
}
