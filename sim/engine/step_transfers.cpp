#include <algorithm>

#include "sim/engine/step.hpp"

namespace twinstep::engine {

using namespace program;

/// A communication kernel starts on this rank: it holds its SMs from now on, and its transfers begin when every rank
/// that they need has come.
void Step::arrive(std::uint32_t index, OpId id, Communication const& communication) {
  auto& stream = streams_[index];
  auto& cell = states_[stream.cell];
  auto const transfers = rendezvous_.transfers_of(CellId{stream.cell}, communication);
  auto& span = span_of(cell, id);
  for (auto const& part : cell.role->parts_of(communication)) span.bytes += payload(program_, part, cell.rank);
  cell.held_sms += machine_.cluster().collectives.channels.value;
  stream.parts_left = static_cast<std::uint32_t>(transfers.size());
  for (auto const transfer : transfers) {
    ++rendezvous_.transfers()[transfer].arrived;
    start_if_complete(transfer);
  }
}

void Step::start_if_complete(std::uint32_t index) {
  auto& transfer = rendezvous_.transfers()[index];
  if (transfer.has_started || transfer.arrived < transfer.needed) return;
  if (transfer.previous != Transfer::kNone && !rendezvous_.transfers()[transfer.previous].has_ended) return;
  transfer.has_started = true;
  for (auto const& participant : rendezvous_.participants(transfer))
    span_of(states_[participant.cell.index()], participant.op).start = now_;
  auto const& folded = rendezvous_.folded(transfer);
  wire_.intra += folded.intra * transfer.groups;
  wire_.inter += folded.inter * transfer.groups;
  begin_phase(index);
}

void Step::begin_phase(std::uint32_t index) {
  auto const& transfer = rendezvous_.transfers()[index];
  auto const& phases = rendezvous_.folded(transfer).phases;
  auto const latency = transfer.phase < phases.size() ? phases[transfer.phase].latency : Duration{};
  events_.add(now_ + latency, EventKind::kLatencyOver, index);
}

void Step::begin_phase_flow(std::uint32_t index) {
  auto const& transfer = rendezvous_.transfers()[index];
  auto const& phases = rendezvous_.folded(transfer).phases;
  if (transfer.phase >= phases.size()) return end_transfer(index);
  uses_.clear();
  for (auto const& participant : rendezvous_.participants(transfer))
    resources_.add_uses(phases[transfer.phase].loads, participant.cell, uses_);
  auto const moves = [](Use const& use) { return use.bytes > 0; };
  if (std::ranges::none_of(uses_, moves)) return end_phase(index);
  begin_flow({.is_transfer = true, .index = index}, now_, Duration{});
}

void Step::end_phase(std::uint32_t index) {
  auto& transfer = rendezvous_.transfers()[index];
  if (++transfer.phase < rendezvous_.folded(transfer).phases.size())
    begin_phase(index);
  else
    end_transfer(index);
}

void Step::end_transfer(std::uint32_t index) {
  auto& transfer = rendezvous_.transfers()[index];
  transfer.has_ended = true;
  for (auto const& participant : rendezvous_.participants(transfer)) {
    auto const stream = stream_of(participant);
    if (--streams_[stream].parts_left > 0) continue;
    states_[participant.cell.index()].held_sms -= machine_.cluster().collectives.channels.value;
    end_operation(stream);
  }
  if (transfer.next != Transfer::kNone) start_if_complete(transfer.next);
}

std::uint32_t Step::stream_of(Participant const& participant) const {
  auto const& cell = states_[participant.cell.index()];
  return static_cast<std::uint32_t>(cell.first_stream + cell.role->operations[participant.op.index()].stream.index());
}

}  // namespace twinstep::engine
