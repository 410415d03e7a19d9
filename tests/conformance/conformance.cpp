#include "tests/conformance/conformance.hpp"

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/timeline_checks.hpp"

namespace twinstep::tests {

std::vector<ConformanceCase> conformance_cases() {
  auto cases = std::vector<ConformanceCase>{
      {"two streams with waits", two_streams_with_waits()},
      {"two communicators on a mesh", two_communicators_on_a_mesh()},
      {"experts folded over data and tensor", folded_experts()},
      {"grids of which neither folds the other", crossed_grids()},
      {"pipeline of two stages", pipeline_of_two_stages()},
      {"host synchronisation", host_synchronisation()},
      {"delay on a stream", delay_on_a_stream()},
      {"lifetimes of buffers", lifetimes_of_buffers()},
      {"kernels and copies", kernels_and_copies()},
  };
  for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
    for (std::size_t i = 0; i < kEnumSize<CollectiveKind>; ++i) {
      auto const kind = static_cast<CollectiveKind>(i);
      for (std::int64_t const elements : {1, 13})
        cases.push_back({fmt::format("{} of {} elements over {} ranks", name_of(kind), elements, ranks),
                         one_collective(kind, ranks, elements, ranks - 1)});
    }
    cases.push_back({fmt::format("in-place all_reduce over {} ranks", ranks), in_place_all_reduce(ranks, 13)});
    cases.push_back({fmt::format("uneven shards over {} ranks", ranks), uneven_shards(ranks)});
    cases.push_back({fmt::format("groups in a ring of {} ranks", ranks), groups_in_a_ring(ranks)});
  }
  return cases;
}

std::vector<StuckCase> stuck_cases() {
  return {
      {"a collective that one rank never issues", missing_collective(), {"rank 0", "parameters", "rank 1"}},
      {"a send without a receive", send_without_receive(), {"rank 0", "send", "rank 1"}},
      {"collectives in crossed order", crossed_collectives(), {"rank 0", "rank 1", "left", "right"}},
  };
}

void check_conformance(Executor const& executor) {
  for (auto const& [name, program] : conformance_cases()) {
    DYNAMIC_SECTION(name) {
      CHECK(find_violations(program, executor(program)) == std::vector<std::string>{});
    }
  }
  for (auto const& [name, program, words] : stuck_cases()) {
    DYNAMIC_SECTION(name) {
      auto message = std::string{};
      try {
        static_cast<void>(executor(program));
      } catch (std::exception const& error) {
        message = error.what();
      }
      for (auto const& word : words) CHECK_THAT(message, Catch::Contains(word));
    }
  }
}

}  // namespace twinstep::tests
