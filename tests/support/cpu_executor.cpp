#include "tests/support/cpu_executor.hpp"

#include <chrono>
#include <list>
#include <vector>

#include "validate/cpu/rank_record.hpp"
#include "validate/cpu/shared_memory.hpp"
#include "validate/cpu/step_threads.hpp"
#include "validate/cpu/supported.hpp"

namespace twinstep::cpu {

timeline::Timeline run(program::StepProgram const& program, Environment& environment) {
  require_supported(program);
  auto const world_size = static_cast<std::size_t>(program.grids.world_size());
  auto threads = std::vector<std::size_t>{};
  for (std::size_t rank = 0; rank < world_size; ++rank) threads.push_back(threads_of(program, RankId{rank}));
  auto board = Board{std::move(threads)};
  auto clock = StepClock{};
  auto memory = SharedMemory{program, board, clock};
  auto step = Step{program, environment, board, memory, clock};

  auto ranks = std::list<RankRun>{};
  for (std::size_t rank = 0; rank < world_size; ++rank) ranks.emplace_back(step, RankId{rank});
  run_threads(board, ranks, [&] { clock.begin = std::chrono::steady_clock::now(); });
  environment.count_step();

  auto records = std::vector<RankRecord>{};
  for (auto& rank : ranks) records.push_back(rank.take_record());
  return timeline_of(program, records, memory.wire(), "measured: threads of one process, BLAS on one core a rank");
}

}  // namespace twinstep::cpu
