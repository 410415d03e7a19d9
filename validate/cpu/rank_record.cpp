#include "validate/cpu/rank_record.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::cpu {
namespace {

timeline::Manifest manifest_of(program::StepProgram const& program, std::string how) {
  auto manifest = timeline::Manifest{};
  manifest.clock = timeline::Clock::kReal;
  manifest.calibration = std::move(how);
  manifest.world_size = program.grids.world_size();
  manifest.tokens = program.facts.tokens;
  manifest.model_flops = program.facts.model_flops;
  for (std::size_t i = 0; i < program.roles.size(); ++i) {
    auto const ranks = static_cast<double>(program.multiplicity(RoleId{i}));
    for (auto const& op : program.roles[i].operations) manifest.hardware_flops += flops_of(op.work) * ranks;
  }
  return manifest;
}

timeline::Track track_of(program::StepProgram const& program, RankId rank) {
  auto const& role = program.roles[program.role_of(rank).index()];
  auto track = timeline::Track{};
  track.role = program.text(role.name);
  track.rank = rank;
  for (auto const& stream : role.streams) track.streams.emplace_back(program.text(stream.name));
  return track;
}

}  // namespace

timeline::Timeline timeline_of(program::StepProgram const& program, std::span<RankRecord const> records,
                               timeline::WireBytes const& wire, std::string how) {
  auto out = timeline::Timeline{};
  out.manifest = manifest_of(program, std::move(how));
  out.names = program.names;
  out.scopes = program.scopes;
  out.wire = {wire.intra, wire.inter};
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    auto const track = timeline::TrackId{rank};
    out.tracks.push_back(track_of(program, RankId{rank}));
    for (auto const& span : records[rank].spans) {
      out.spans.push_back(span);
      out.spans.back().track = track;
      out.step_time = std::max(out.step_time, span.end);
    }
    for (auto const& sample : records[rank].memory) {
      out.memory.push_back(sample);
      out.memory.back().track = track;
    }
  }
  out.events = static_cast<std::int64_t>(out.spans.size());
  return out;
}

}  // namespace twinstep::cpu
