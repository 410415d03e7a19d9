#include "sim/collectives/pipeline.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::collectives {
namespace {

std::int64_t stages_of(Schedule const& pipe) {
  return pipe.steps - (pipe.pieces - 1);
}

/// The schedule of one piece.
Schedule base_of(Schedule const& pipe) {
  auto base = pipe;
  base.pieces = 1;
  base.steps = stages_of(pipe);
  base.chunks = pipe.chunks / pipe.pieces;
  base.lanes = pipe.lanes / base.steps;
  base.successor = pipe.piece_successor;
  base.piece_successor = nullptr;
  return base;
}

/// The base's lanes repeat for each stage.
std::optional<Message> pipeline_step(Schedule const& pipe, std::int64_t rank, std::int64_t step, std::int64_t lane) {
  auto const stage = lane / (pipe.lanes / stages_of(pipe));
  auto const piece = step - stage;
  if (piece < 0 || piece >= pipe.pieces) return std::nullopt;
  auto const base = base_of(pipe);
  auto message = base.message(rank, stage, lane % base.lanes);
  if (!message) return std::nullopt;
  if (has_shares(pipe.kind)) {
    TWINSTEP_CHECK(message->chunk_count == 1, "a piece of several ranks' chunks is no run");
    message->first_chunk = message->first_chunk * pipe.pieces + piece;
  } else {
    message->first_chunk += piece * base.chunks;
  }
  return message;
}

StageLoad operator+(StageLoad const& a, StageLoad const& b) {
  return {a.port_out + b.port_out, a.port_in + b.port_in, a.nic_out + b.nic_out, a.nic_in + b.nic_in};
}

double busiest(StageLoad const& load) {
  return std::max({load.port_out, load.port_in, load.nic_out, load.nic_in});
}

}  // namespace

Schedule pipelined(Schedule const& base, std::int64_t pieces) {
  TWINSTEP_CHECK(pieces >= 1 && base.pieces == 1 && base.kind != CollectiveKind::kAllToAll,
                 "a pipeline has pieces, and a base that is none itself");
  if (pieces == 1 || base.steps == 0) return base;
  auto pipe = base;
  pipe.pieces = pieces;
  pipe.steps = base.steps + pieces - 1;
  pipe.chunks = base.chunks * pieces;
  pipe.lanes = base.lanes * base.steps;
  pipe.piece_successor = base.successor;
  pipe.successor = pipeline_step;
  pipe.arrivals = nullptr;
  return pipe;
}

Duration fill_time(std::span<StageLoad const> stages, std::int64_t pieces) {
  TWINSTEP_CHECK(pieces >= 1 && !stages.empty(), "a pipeline has stages and pieces");
  auto const count = static_cast<std::int64_t>(stages.size());
  auto const step_time = [&](std::int64_t first, std::int64_t last) {
    auto sum = StageLoad{};
    for (auto k = first; k <= last; ++k) sum = sum + stages[static_cast<std::size_t>(k)];
    return busiest(sum);
  };
  // In step t the stages from t - pieces + 1 to t are at work. The steps in which all are cancel out.
  auto const full = std::max<std::int64_t>(0, pieces - count + 1);
  auto seconds = -step_time(0, count - 1) * static_cast<double>(pieces - full);
  for (auto step = std::int64_t{0}; step < pieces + count - 1; ++step) {
    if (full > 0 && step == count - 1) step += full;
    seconds += step_time(std::max<std::int64_t>(0, step - pieces + 1), std::min(step, count - 1));
  }
  return to_duration(Seconds{std::max(0.0, seconds)});
}

Timing pipelined_timing(Timing first_piece, std::int64_t pieces) {
  first_piece.pieces = pieces;
  if (pieces > 1) first_piece.steps.push_back({pieces - 1, Duration{}});
  return first_piece;
}

}  // namespace twinstep::collectives
