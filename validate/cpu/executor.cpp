#include "validate/cpu/executor.hpp"

#include <algorithm>
#include <latch>
#include <list>
#include <thread>
#include <vector>

#include "validate/cpu/rank_run.hpp"
#include "validate/cpu/supported.hpp"

namespace twinstep::cpu {
namespace {

std::vector<std::size_t> threads_by_rank(program::StepProgram const& program) {
  auto threads = std::vector<std::size_t>{};
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(program.mesh.world_size()); ++rank)
    threads.push_back(1 + program.roles[program.role_of(RankId{rank}).index()].streams.size());
  return threads;
}

/// Runs all threads of all ranks to their end. The first error of any of them ends the others and is thrown here.
void run_threads(Step& step, std::list<RankRun>& ranks) {
  auto start = std::latch{1};
  auto threads = std::vector<std::jthread>{};
  auto const launch = [&](RankRun& rank, auto body) {
    threads.emplace_back([&step, &rank, &start, body] {
      start.wait();
      try {
        body(rank);
      } catch (Stopped const&) {  // somebody else has said why
      } catch (...) {
        step.board.stop(std::current_exception());
      }
      step.board.leave(rank.rank().index());
    });
  };
  try {
    for (auto& rank : ranks) {
      launch(rank, [](RankRun& run) { run.run_host(); });
      for (std::size_t i = 0; i < rank.role().streams.size(); ++i)
        launch(rank, [i](RankRun& run) { run.run_stream(StreamId{i}); });
    }
  } catch (...) {  // no more threads to be had
    step.board.stop(std::current_exception());
  }
  step.begin = std::chrono::steady_clock::now();
  start.count_down();
  threads.clear();  // joins
  if (auto const reason = step.board.reason()) std::rethrow_exception(reason);
}

timeline::Manifest manifest_of(program::StepProgram const& program) {
  auto manifest = timeline::Manifest{};
  manifest.clock = timeline::Clock::kReal;
  manifest.calibration = "measured: threads of one process, BLAS on one core a rank";
  manifest.world_size = program.mesh.world_size();
  manifest.tokens = program.facts.tokens;
  manifest.model_flops = program.facts.model_flops;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    auto const ranks = static_cast<double>(program.multiplicity(RoleId{i}));
    for (auto const& op : program.roles[i].operations) manifest.hardware_flops += flops_of(op.work) * ranks;
  }
  return manifest;
}

timeline::Timeline timeline_of(Step const& step, std::list<RankRun> const& ranks) {
  auto out = timeline::Timeline{};
  out.manifest = manifest_of(step.program);
  out.names = step.program.names;
  out.wire.intra = step.wire;
  for (auto const& rank : ranks) {
    auto const id = timeline::TrackId{out.tracks.size()};
    auto& track = out.tracks.emplace_back();
    track.role = step.program.text(rank.role().name);
    track.rank = rank.rank();
    for (auto const& stream : rank.role().streams) track.streams.emplace_back(step.program.text(stream.name));
    for (auto const& span : rank.spans()) {
      out.spans.push_back(span);
      out.spans.back().track = id;
      out.step_time = std::max(out.step_time, span.end);
    }
    for (auto const& sample : rank.memory()) {
      out.memory.push_back(sample);
      out.memory.back().track = id;
    }
  }
  out.events = static_cast<std::int64_t>(out.spans.size());
  return out;
}

}  // namespace

timeline::Timeline run(program::StepProgram const& program, Environment& environment) {
  require_supported(program);
  auto step = Step{.program = program,
                   .environment = environment,
                   .board = Board{threads_by_rank(program)},
                   .meetings = Meetings{program},
                   .wire = {},
                   .begin = {}};
  auto ranks = std::list<RankRun>{};
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(program.mesh.world_size()); ++rank)
    ranks.emplace_back(step, RankId{rank});
  run_threads(step, ranks);
  environment.count_step();
  return timeline_of(step, ranks);
}

}  // namespace twinstep::cpu
