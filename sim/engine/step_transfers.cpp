#include <algorithm>

#include "sim/engine/step.hpp"

namespace twinstep::engine {

using namespace program;

/// A communication kernel starts on this rank: it holds its SMs until it ends, and its transfers begin when every rank
/// that they need has come.
void Step::arrive(std::uint32_t index, OpId id, Communication const& communication) {
  auto& stream = streams_[index];
  auto& cell = states_[stream.cell];
  auto& span = span_of(cell, id);
  for (auto const& part : cell.role->parts_of(communication)) span.bytes += payload(program_, part, cell.rank);
  if (options_.communication_is_free) return begin_delay(index, {});
  auto const transfers = transfers_.of(CellId{stream.cell}, communication);
  hold_sms(cell, sms_of(transfers));
  stream.parts_left = static_cast<std::uint32_t>(transfers.size());
  for (auto const transfer : transfers) {
    ++transfers_.at(transfer).arrived;
    start_if_complete(transfer);
  }
}

void Step::start_if_complete(std::uint32_t index) {
  auto& transfer = transfers_.at(index);
  if (transfer.has_started() || !transfer.is_complete()) return;
  if (transfer.follows_another && !transfers_.at(index - 1).has_ended()) return;
  transfer.start = clock_.now();
  for (auto const& participant : transfer.meeting.participants)
    span_of(states_[participant.cell.index()], participant.op).start = clock_.now();
  if (transfers_.replay(transfer) != nullptr)
    begin_replay(index);
  else
    begin_phase(index);
}

void Step::begin_phase(std::uint32_t index) {
  auto const& transfer = transfers_.at(index);
  auto const& phases = transfers_.folded(transfer).phases;
  auto const latency = transfer.phase < phases.size() ? phases[transfer.phase].latency : Duration{};
  clock_.wait_until(clock_.now() + latency, EventKind::kLatencyOver, index);
}

void Step::begin_phase_flows(std::uint32_t index) {
  auto& transfer = transfers_.at(index);
  if (transfer.phase >= transfers_.folded(transfer).phases.size()) return end_transfer(index);
  auto const flows = transfers_.flows(transfer);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    if (flows[f].phase != transfer.phase) continue;
    uses_.clear();
    add_loads_of(transfer, flows[f].loads);
    if (uses_.empty() && flows[f].least == Duration{}) continue;
    ++transfer.flows_left;
    clock_.flow(clock_.now(), {uses_, flows[f].bytes, flows[f].least}, EventKind::kTransferFlowEnds, index, f);
  }
  if (transfer.flows_left == 0) end_phase(index);
}

void Step::end_phase_flow(std::uint32_t index) {
  if (--transfers_.at(index).flows_left == 0) end_phase(index);
}

/// What the transfer's phase moves on the links of all that take part. Of a message, the sender's links out of its node
/// carry it, and the receiver's links in.
void Step::add_loads_of(Transfer const& transfer, std::span<collectives::Load const> loads) {
  auto const& meeting = transfer.meeting;
  if (!meeting.is_message()) {
    for (auto const& participant : meeting.participants) resources_.add_uses(loads, participant.cell, uses_);
    return;
  }
  auto const& topology = machine_.topology();
  resources_.add_uses_but(topology::Heading::kIn, loads, meeting.expected.front(), topology, uses_);
  resources_.add_uses_but(topology::Heading::kOut, loads, meeting.expected.back(), topology, uses_);
}

void Step::end_phase(std::uint32_t index) {
  auto& transfer = transfers_.at(index);
  if (++transfer.phase < transfers_.folded(transfer).phases.size())
    begin_phase(index);
  else
    end_transfer(index);
}

void Step::begin_replay(std::uint32_t index) {
  auto const& transfer = transfers_.at(index);
  auto places = std::vector<Place>{};
  for (auto const cell : transfer.meeting.expected) places.push_back(resources_.place(cell));
  replays_[index] =
      std::make_unique<MessageReplay>(*transfers_.replay(transfer), std::move(places), resources_.routes(), index);
  replays_[index]->start(clock_);
}

void Step::end_replay_if_done(std::uint32_t index) {
  if (!replays_[index]->has_ended()) return;
  replays_[index].reset();
  end_transfer(index);
}

void Step::end_transfer(std::uint32_t index) {
  auto& transfer = transfers_.at(index);
  transfer.end = clock_.now();
  for (auto const& participant : transfer.meeting.participants) {
    auto const stream = stream_of(participant);
    if (--streams_[stream].parts_left > 0) continue;
    hold_sms(states_[participant.cell.index()], -sms_of(transfers_of(participant)));
    end_operation(stream);
  }
  if (index + 1 < transfers_.size() && transfers_.at(index + 1).follows_another) start_if_complete(index + 1);
}

std::span<std::uint32_t const> Step::transfers_of(Participant const& participant) const {
  auto const& operation = states_[participant.cell.index()].role->operations[participant.op.index()];
  return transfers_.of(participant.cell, std::get<Communication>(operation.work));
}

/// A group is one kernel: it holds the SMs of its widest part.
std::int64_t Step::sms_of(std::span<std::uint32_t const> transfers) const {
  auto sms = std::int64_t{0};
  for (auto const transfer : transfers) sms = std::max(sms, transfers_.folded(transfers_.at(transfer)).channels);
  return sms;
}

std::uint32_t Step::stream_of(Participant const& participant) const {
  auto const& cell = states_[participant.cell.index()];
  return static_cast<std::uint32_t>(cell.first_stream + cell.role->operations[participant.op.index()].stream.index());
}

}  // namespace twinstep::engine
