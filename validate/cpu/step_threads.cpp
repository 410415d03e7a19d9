#include "validate/cpu/step_threads.hpp"

#include <latch>
#include <thread>

namespace twinstep::cpu {

std::size_t threads_of(program::StepProgram const& program, RankId rank) {
  return 1 + program.roles[program.role_of(rank).index()].streams.size();
}

void run_threads(Board& board, std::list<RankRun>& ranks, std::function<void()> const& begin,
                 std::function<void()> const& on_error) {
  auto start = std::latch{1};
  auto threads = std::vector<std::jthread>{};
  auto const stop = [&] {
    board.stop(std::current_exception());
    if (on_error) on_error();
  };
  auto const launch = [&](RankRun& rank, auto body) {
    threads.emplace_back([&board, &rank, &start, &stop, body] {
      start.wait();
      try {
        body(rank);
      } catch (Stopped const&) {  // somebody else has said why
      } catch (...) {
        stop();
      }
      board.leave(rank.rank().index());
    });
  };
  try {
    for (auto& rank : ranks) {
      launch(rank, [](RankRun& run) { run.run_host(); });
      for (std::size_t i = 0; i < rank.role().streams.size(); ++i)
        launch(rank, [i](RankRun& run) { run.run_stream(StreamId{i}); });
    }
    begin();
  } catch (...) {  // no more threads to be had, or no beginning
    stop();
  }
  start.count_down();
  threads.clear();  // joins
  if (auto const reason = board.reason()) std::rethrow_exception(reason);
}

}  // namespace twinstep::cpu
