#include "validate/cuda/rank_timeline.hpp"

#include <algorithm>

namespace twinstep::cuda {
namespace {

using program::Role;
using program::StepProgram;
using timeline::Timeline;

Bytes carried_bytes(StepProgram const& program, Role const& role, program::Operation const& op, RankId rank) {
  auto bytes = Bytes{};
  if (auto const* communication = std::get_if<program::Communication>(&op.work))
    for (auto const& part : role.parts_of(*communication)) bytes += payload(program, part, rank);
  if (auto const* copy = std::get_if<program::Copy>(&op.work)) bytes = Bytes{program.evaluate(copy->bytes, rank)};
  return bytes;
}

void add_spans(Timeline& out, StepProgram const& program, timeline::TrackId track, Role const& role, RankId rank,
               std::span<OperationTimes const> times) {
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    auto const& op = role.operations[i];
    out.spans.push_back({.track = track,
                         .stream = op.stream,
                         .op = OpId{i},
                         .name = op.name,
                         .scope = op.scope,
                         .kind = work_kind_of(role, op),
                         .bytes = carried_bytes(program, role, op, rank),
                         .issue = times[i].issue,
                         .arrive = times[i].begin,
                         .start = times[i].begin,
                         .end = times[i].end});
    out.step_time = std::max(out.step_time, times[i].end);
  }
}

/// The program's ledger: persistent buffers from the start on, others from the issue of their first use to the return
/// of the issue of their last.
void add_memory(Timeline& out, StepProgram const& program, timeline::TrackId track, Role const& role, RankId rank,
                std::span<OperationTimes const> times) {
  auto samples = std::vector<timeline::MemorySample>{};
  for (auto const& buffer : role.buffers) {
    auto const bytes = size_of(buffer.type) * program.evaluate(buffer.elements, rank);
    auto const is_used = buffer.first_use.exists();
    if (bytes == Bytes{} || (!buffer.is_persistent && !is_used)) continue;
    auto sample = timeline::MemorySample{
        .track = track, .time = {}, .category = buffer.category, .space = buffer.space, .change = bytes};
    if (!buffer.is_persistent) sample.time = times[buffer.first_use.index()].issue;
    samples.push_back(sample);
    if (buffer.is_persistent) continue;
    sample.time = times[buffer.last_use.index()].issued;
    sample.change = -bytes;
    samples.push_back(sample);
  }
  std::ranges::stable_sort(samples, {}, &timeline::MemorySample::time);
  out.memory.insert(out.memory.end(), samples.begin(), samples.end());
}

}  // namespace

Timeline empty_timeline_of(StepProgram const& program) {
  auto out = Timeline{};
  auto& manifest = out.manifest;
  manifest.clock = timeline::Clock::kReal;
  manifest.calibration = "measured: CUDA events around every operation";
  manifest.world_size = program.grids.world_size();
  manifest.tokens = program.facts.tokens;
  manifest.model_flops = program.facts.model_flops;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    auto const ranks = static_cast<double>(program.multiplicity(RoleId{i}));
    for (auto const& op : program.roles[i].operations) manifest.hardware_flops += flops_of(op.work) * ranks;
  }
  return out;
}

Timeline timeline_of(StepProgram const& program, std::span<std::vector<OperationTimes> const> times) {
  auto out = empty_timeline_of(program);
  out.names = program.names;
  out.scopes = program.scopes;
  for (std::size_t i = 0; i < times.size(); ++i) {
    auto const rank = RankId{i};
    auto const id = timeline::TrackId{i};
    auto const& role = program.roles[program.role_of(rank).index()];
    auto& track = out.tracks.emplace_back();
    track.role = program.text(role.name);
    track.rank = rank;
    for (auto const& stream : role.streams) track.streams.emplace_back(program.text(stream.name));
    add_spans(out, program, id, role, rank, times[i]);
    add_memory(out, program, id, role, rank, times[i]);
  }
  out.events = static_cast<std::int64_t>(out.spans.size());
  return out;
}

}  // namespace twinstep::cuda
