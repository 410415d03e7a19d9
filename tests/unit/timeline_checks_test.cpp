#include "tests/support/timeline_checks.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"

using namespace twinstep;
using namespace twinstep::literals;

namespace {

/// A correct record of `two_streams_with_waits`: fill [0, 10), double [10, 20) on the side, add [20, 30) ns.
timeline::Timeline record_of(program::StepProgram const& program) {
  auto out = timeline::Timeline{};
  out.manifest.world_size = 1;
  out.names = program.names;
  out.scopes = program.scopes;
  out.tracks.push_back({"worker", RankId{0}, 1, {"main", "side"}});
  auto const& role = program.roles.front();
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    auto const& op = role.operations[i];
    auto const begin = 10_ns * static_cast<std::int64_t>(i);
    out.spans.push_back({timeline::TrackId{0}, op.stream, OpId{i}, op.name, op.scope, work_kind_of(role, op), Bytes{},
                         1_ns * static_cast<std::int64_t>(i), begin, begin, begin + 10_ns});
  }
  auto const sample = [&](Time time, program::MemoryCategory category, Bytes change) {
    out.memory.push_back({timeline::TrackId{0}, time, category, program::MemorySpace::kDevice, change});
  };
  using enum program::MemoryCategory;
  sample(0_ns, kParameters, 4000_B);
  sample(0_ns, kActivations, 4000_B);
  sample(1_ns, kActivations, 4000_B);
  sample(2_ns, kActivations, -8000_B);
  out.step_time = 30_ns;
  return out;
}

/// The violations, one a line, of a record that `spoil` has changed.
template <class Spoil>
std::string violations_after(Spoil spoil) {
  auto const program = tests::two_streams_with_waits();
  auto record = record_of(program);
  spoil(record);
  auto out = std::string{};
  for (auto const& violation : tests::find_violations(program, record)) out += violation + "\n";
  return out;
}

}  // namespace

TEST_CASE("a correct record has no violations", "[support]") {
  CHECK(violations_after([](auto&) {}) == "");
}

TEST_CASE("a missing span is found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.spans.pop_back(); }),
             Catch::Contains("track 0 has 2 spans for 3 operations"));
}

TEST_CASE("tracks that do not stand for all ranks are found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.tracks[0].multiplicity = 2; }),
             Catch::Contains("stand for 2 ranks of 1"));
}

TEST_CASE("a span that starts before what it waits for has ended is found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.spans[1].arrive = record.spans[1].start = 9_ns; }),
             Catch::Contains("rank 0, double: arrives before fill has ended"));
}

TEST_CASE("two spans at once on one stream are found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.spans[0].end = 21_ns; }),
             Catch::Contains("rank 0, add: starts before its stream is free"));
}

TEST_CASE("a span that ends before it starts is found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.spans[2].start = 31_ns; }), Catch::Contains("out of order"));
}

TEST_CASE("operations issued out of order are found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.spans[1].issue = 3_ns; }),
             Catch::Contains("rank 0, add: issued before the host was free"));
}

TEST_CASE("memory that is released twice or never is found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.memory.pop_back(); }),
             Catch::Contains("ends with 8000 bytes of activations in device memory instead of 0"));
  CHECK_THAT(violations_after([](auto& record) { record.memory.back().change = -12000_B; }),
             Catch::Contains("holds -4000 bytes of activations"));
}

TEST_CASE("a step time other than the last end is found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.step_time = 29_ns; }),
             Catch::Contains("the step takes 29000 ps, but its last span ends at 30000 ps"));
}

TEST_CASE("bytes on a span that moves nothing are found", "[support]") {
  CHECK_THAT(violations_after([](auto& record) { record.spans[0].bytes = 4_B; }),
             Catch::Contains("carries 4 bytes instead of 0"));
}
