#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "strategies/mesh/schedule.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
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

using Kind = ScheduledPass::Kind;

/// What passes take, in units of which a whole model's forward on one stage takes one for each chunk it has.
struct Times {
  double forward = 1, backward = 2, input = 1, weight = 1;
  [[nodiscard]] double of(Kind kind) const {
    switch (kind) {
      case Kind::kForward: return forward;
      case Kind::kBackward: return backward;
      case Kind::kInputGradient: return input;
      case Kind::kWeightGradient: return weight;
    }
    return 0;
  }
};

/// Runs all stages by themselves, without communication: a pass begins when its stage has done the one before and its
/// input is there. Returns the end of the last; nothing if stages wait for each other.
std::optional<double> makespan(Pipeline const& pipeline, std::int64_t micro_batches, Times const& times) {
  auto schedules = std::vector<Schedule>{};
  for (std::int64_t stage = 0; stage < pipeline.stages; ++stage)
    schedules.push_back(schedule_of(pipeline, stage, micro_batches));
  auto next = std::vector<std::size_t>(schedules.size());
  auto clock = std::vector<double>(schedules.size());
  auto done = std::map<std::tuple<bool, std::int64_t, std::int64_t>, double>{};  // by direction, part, micro-batch
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t stage = 0; stage < schedules.size(); ++stage) {
      if (next[stage] == schedules[stage].size()) continue;
      auto const& pass = schedules[stage][next[stage]];
      auto const part = part_at(pipeline, static_cast<std::int64_t>(stage), static_cast<std::int64_t>(pass.chunk));
      auto const is_forward = pass.kind == Kind::kForward;
      auto ready = 0.0;
      auto const from = is_forward ? part - 1 : part + 1;
      auto const has_input = pass.kind != Kind::kWeightGradient && from >= 0 && from < pipeline.parts();
      if (has_input) {
        auto const input = done.find({is_forward, from, pass.micro_batch});
        if (input == done.end()) continue;
        ready = input->second;
      }
      clock[stage] = std::max(clock[stage], ready) + times.of(pass.kind);
      if (pass.kind != Kind::kWeightGradient) done[{is_forward, part, pass.micro_batch}] = clock[stage];
      ++next[stage];
      moves = true;
    }
  }
  for (std::size_t stage = 0; stage < schedules.size(); ++stage)
    if (next[stage] < schedules[stage].size()) return std::nullopt;
  return *std::ranges::max_element(clock);
}

/// Chunks of micro-batches whose backward has not begun to come back, at most, on one stage. A backward in two parts
/// lets go with its second.
int most_held(Pipeline const& pipeline, std::int64_t stage, std::int64_t micro_batches) {
  auto most = 0;
  auto now = 0;
  for (auto const& pass : schedule_of(pipeline, stage, micro_batches)) {
    if (pass.kind == Kind::kForward) most = std::max(most, ++now);
    if (pass.kind == Kind::kBackward || pass.kind == Kind::kWeightGradient) --now;
  }
  CHECK(now == 0);
  return most;
}

Pipeline pipeline_of(PipelineSchedule schedule, std::int64_t stages, std::int64_t chunks = 1, std::int64_t group = 0) {
  return {.stages = stages, .chunks = chunks, .schedule = schedule, .group = group > 0 ? group : stages};
}

}  // namespace

// Replays by hand and of the reference: 1F1B takes 3 (m + p - 1); interleaving 3 (m + (p - 1) / v), where a chunk's
// forward takes 1 / v.
TEST_CASE("schedules take what their papers say where communication takes nothing", "[mesh][schedule]") {
  using enum PipelineSchedule;
  auto const whole = Times{};
  auto const chunk = [](double chunks) { return Times{1 / chunks, 2 / chunks, 1 / chunks, 1 / chunks}; };
  CHECK(makespan(pipeline_of(kOneForwardOneBackward, 8), 32, whole) == 117);  // 3 · (32 + 7)
  CHECK(makespan(pipeline_of(kGpipe, 8), 32, whole) == 117);
  CHECK(makespan(pipeline_of(kInterleaved, 8, 4), 32, chunk(4)) == 101.25);    // 3 · (32 + 7 / 4)
  CHECK(makespan(pipeline_of(kInterleaved, 4, 2, 8), 16, chunk(2)) == 52.5);   // 3 · (16 + 3 / 2)
  CHECK(makespan(pipeline_of(kInterleaved, 8, 2, 12), 20, chunk(2)) == 70.5);  // the last group has 8
  CHECK(makespan(pipeline_of(kInterleaved, 4, 2, 4), 6, chunk(2)) == 27.5);    // … 2, fewer than the stages
  // Input and weight gradients take 1 each, as the forward of a chunk does: 6 m + p - 1.
  CHECK(makespan(pipeline_of(kZeroBubbleV, 8, 2), 32, whole) == 199);
  CHECK(makespan(pipeline_of(kDualPipeV, 8, 2), 32, whole) == 199);
}

TEST_CASE("stages hold as many micro-batches as their schedule has in flight", "[mesh][schedule]") {
  using enum PipelineSchedule;
  // 2 (p - r - 1) + (v - 1) N + 1.
  for (int stage = 0; stage < 8; ++stage)
    CHECK(most_held(pipeline_of(kInterleaved, 8, 4), stage, 32) == 39 - 2 * stage);
  for (int stage = 0; stage < 4; ++stage)
    CHECK(most_held(pipeline_of(kInterleaved, 4, 2, 8), stage, 16) == 15 - 2 * stage);
  for (int stage = 0; stage < 8; ++stage) {
    CHECK(most_held(pipeline_of(kZeroBubbleV, 8, 2), stage, 32) == 16);
    CHECK(most_held(pipeline_of(kDualPipeV, 8, 2), stage, 32) == 17);
  }
}

TEST_CASE("every schedule runs each chunk forward and backward once with every micro-batch", "[mesh][schedule]") {
  using enum PipelineSchedule;
  for (auto pipeline :
       {pipeline_of(kGpipe, 4), pipeline_of(kOneForwardOneBackward, 4), pipeline_of(kInterleaved, 4, 3),
        pipeline_of(kInterleavedZeroBubble, 4, 2), pipeline_of(kZeroBubbleV, 4, 2), pipeline_of(kDualPipeV, 4, 2)})
    for (std::int64_t const micro_batches : {8, 9, 11, 16}) {
      // A last group with fewer micro-batches than stages would get stuck.
      pipeline.group = micro_batches % 4 == 0 ? 4 : micro_batches;
      INFO(name_of(pipeline.schedule) << ", " << micro_batches << " micro-batches");
      CHECK(makespan(pipeline, micro_batches, {}).has_value());
      for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
        auto forwards = std::map<std::pair<std::size_t, std::int64_t>, int>{};
        auto weights = forwards;
        for (auto const& pass : schedule_of(pipeline, stage, micro_batches)) {
          auto const which = std::pair{pass.chunk, pass.micro_batch};
          if (pass.kind == Kind::kForward) ++forwards[which];
          if (pass.kind == Kind::kBackward || pass.kind == Kind::kWeightGradient) ++weights[which];
        }
        CHECK(std::ssize(forwards) == pipeline.chunks * micro_batches);
        CHECK(forwards == weights);
        CHECK(std::ranges::all_of(forwards, [](auto const& each) { return each.second == 1; }));
      }
    }
}

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
