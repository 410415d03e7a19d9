#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/core.h>

#include "sim/engine/step.hpp"

namespace twinstep::engine {

using namespace program;

std::vector<double> Step::carried() const {
  auto carried = std::vector<double>(resources_.size());
  for (std::uint32_t r = 0; r < resources_.size(); ++r) carried[r] = clock_.network().carried(r);
  return carried;
}

// Bytes on HBM belong to kernels as well as to communication; reports of links leave it out.
std::vector<timeline::LinkTraffic> Step::link_traffic(std::vector<double> const& carried) const {
  auto busiest = std::map<std::string_view, std::uint32_t>{};  // by kind
  auto const& topology = machine_.topology();
  auto const busy_time = [&](std::uint32_t r) {
    return carried[r] / topology.resource(resources_.origin(r)).bandwidth.count();
  };
  for (std::uint32_t r = 0; r < resources_.size(); ++r) {
    if (carried[r] <= 0 || resources_.origin(r) == topology.hbm()) continue;
    auto const [entry, is_new] = busiest.try_emplace(topology.resource(resources_.origin(r)).kind, r);
    if (!is_new && busy_time(r) > busy_time(entry->second)) entry->second = r;
  }
  auto traffic = std::vector<timeline::LinkTraffic>{};
  for (auto const& [kind, r] : busiest) {
    auto const& resource = topology.resource(resources_.origin(r));
    traffic.push_back({.name = std::string{kind},
                       .is_inter_node = resource.is_inter_node,
                       .bytes = to_bytes(std::floor(carried[r])),
                       .links = resource.instances,
                       .bandwidth = resource.bandwidth});
  }
  return traffic;
}

/// What is known before anything runs.
void Step::write_facts(timeline::Timeline& out) const {
  auto const& gpu = machine_.cluster().node().gpu;
  out.manifest.calibration = machine_.cluster().calibration;
  out.manifest.world_size = program_.grids.world_size();
  out.manifest.tokens = program_.facts.tokens;
  out.manifest.model_flops = program_.facts.model_flops;
  out.manifest.hardware_flops = program_.facts.hardware_flops;
  out.manifest.peak = gpu.peak(program_.facts.compute_type).value_or(FlopsPerSecond{});
  out.manifest.memory_capacity = gpu.memory_capacity.value;
  out.names = program_.names;
  out.scopes = program_.scopes;
  for (auto const& cell : states_) {
    auto& track = out.tracks.emplace_back();
    track.role = program_.text(cell.role->name);
    track.rank = cell.rank;
    track.multiplicity = cell.multiplicity;
    for (auto const& stream : cell.role->streams) track.streams.emplace_back(program_.text(stream.name));
  }
}

timeline::Timeline Step::timeline() && {
  auto out = timeline::Timeline{};
  write_facts(out);
  for (auto const& span : spans_) out.step_time = std::max(out.step_time, span.end);
  for (std::size_t c = 0; c < states_.size(); ++c)
    ledgers_[c].append_to(out, spans_of(states_[c]), options_.replays_allocator);
  out.spans = std::move(spans_);
  out.links = link_traffic(carried());
  out.traffic = traffic_of(transfers_, cells_, machine_.topology(), clock_.speed_changes());
  for (auto const& one : out.traffic) {
    out.wire.intra += one.bytes.intra;
    out.wire.inter += one.bytes.inter;
  }
  out.events = clock_.event_count();
  return out;
}

/// What a transfer still needs: ranks that have not come, ranks that never will.
std::string Step::describe_missing(Transfer const& transfer) const {
  auto const& [communicator, number, expected, participants] = transfer.meeting;
  auto missing = std::string{};
  for (auto const cell : expected) {
    auto const participant = std::ranges::find(participants, cell, &Participant::cell);
    auto const rank = states_[cell.index()].rank.index();
    if (participant == participants.end()) {
      missing += fmt::format(", rank {} never issues it", rank);
    } else if (auto const& stream = streams_[stream_of(*participant)];
               !stream.is_busy || stream.queue[stream.next] != participant->op) {
      missing += fmt::format(", rank {} has not reached it", rank);
    }
  }
  auto const where = fmt::format("#{} on communicator \"{}\"", number,
                                 program_.text(program_.communicators[communicator.index()].name));
  if (!missing.empty()) return where + missing;
  if (transfer.is_complete()) return fmt::format("{}, behind an unfinished #{}", where, number - 1);
  return where + ", the other side is never issued";  // both sides are one cell's
}

std::string Step::describe_wait(CellState const& cell, StreamState const& stream) const {
  auto const id = stream.queue[stream.next];
  auto const& op = cell.role->operations[id.index()];
  auto const where = fmt::format("rank {}, stream \"{}\": {}", cell.rank.index(),
                                 program_.text(cell.role->streams[op.stream.index()].name), program_.describe(op));
  if (stream.is_busy) {
    auto const& communication = std::get<Communication>(op.work);
    for (auto const t : transfers_.of(CellId{stream.cell}, communication))
      if (auto const& transfer = transfers_.at(t); !transfer.has_ended())
        return fmt::format("{} waits for its peers ({})", where, describe_missing(transfer));
  }
  if (span_of(cell, id).issue == kNever) return fmt::format("{} waits for the host to issue it", where);
  for (auto const wait : cell.role->waits_of(op))
    if (span_of(cell, wait).end == kNever)
      return fmt::format("{} waits for {}", where, program_.describe(cell.role->operations[wait.index()]));
  return fmt::format("{} waits for its stream", where);
}

std::string Step::who_waits_for_whom() const {
  constexpr std::size_t kShown = 8;
  auto text =
      fmt::format("stuck at {:.3f} ms with {} operations to go", to_seconds(clock_.now()).count() * 1e3, unfinished_);
  auto shown = std::size_t{0};
  for (auto const& stream : streams_) {
    if (stream.next == stream.queue.size()) continue;
    if (++shown > kShown) return text + "; …";
    text += "; " + describe_wait(states_[stream.cell], stream);
  }
  for (auto const& cell : states_) {
    if (cell.next_issue == cell.role->operations.size()) continue;
    auto const& op = cell.role->operations[cell.next_issue];
    for (auto const wait : cell.role->waits_of(op))
      if (span_of(cell, wait).end == kNever)
        text += fmt::format("; rank {}, host: {} waits for {}", cell.rank.index(), program_.describe(op),
                            program_.describe(cell.role->operations[wait.index()]));
  }
  return text;
}

}  // namespace twinstep::engine
