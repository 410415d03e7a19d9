#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/collectives/replay.hpp"
#include "sim/engine/fidelity.hpp"
#include "sim/engine/flow_clock.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/meetings.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::engine {

/// What part of a phase's messages moves, by itself: those over links between GPUs, or all others. A phase ends when
/// its flows have ended.
struct TransferFlow {
  std::uint32_t phase = 0;
  std::vector<collectives::Load> loads;
  /// That one rank sends or receives in this way: what of it shares a link with a copy counts as much.
  double bytes = 0;
  Duration least;
};

/// A meeting on the network: what it costs, and how far it has come.
struct Transfer {
  program::Meeting meeting;
  std::uint32_t folded = 0;      ///< which of the distinct costs
  std::int64_t groups = 1;       ///< real groups (or pairs) of ranks that it stands for
  bool follows_another = false;  ///< the transfer before it, on the same communicator group: that must have ended

  // While the step runs.
  std::uint32_t arrived = 0;
  std::uint32_t phase = 0;
  std::uint32_t flows_left = 0;  ///< of the phase
  Time start = kNever;
  Time end = kNever;

  [[nodiscard]] bool has_started() const { return start != kNever; }
  [[nodiscard]] bool has_ended() const { return end != kNever; }
  [[nodiscard]] bool is_complete() const { return arrived == meeting.expected.size(); }
};

/// All communications of a program, matched and folded before the step runs. Cost: the communications of all cells.
class Transfers {
 public:
  /// `others_use` are resources that copies and CPU kernels of the program use too.
  Transfers(program::StepProgram const& program, program::Projection const& cells, Machine const& machine,
            Fidelity fidelity, std::vector<ResourceId> const& others_use);

  [[nodiscard]] std::size_t size() const { return transfers_.size(); }
  [[nodiscard]] Transfer& at(std::uint32_t index) { return transfers_[index]; }
  [[nodiscard]] Transfer const& at(std::uint32_t index) const { return transfers_[index]; }
  /// The transfers of a communication operation of `cell`, one for each part.
  [[nodiscard]] std::span<std::uint32_t const> of(program::CellId cell,
                                                  program::Communication const& communication) const {
    return std::span{transfer_of_part_[cell.index()]}.subspan(communication.parts.first, communication.parts.count);
  }
  [[nodiscard]] collectives::Folded const& folded(Transfer const& transfer) const { return folded_[transfer.folded]; }
  /// Those of all phases, in their order.
  [[nodiscard]] std::span<TransferFlow const> flows(Transfer const& transfer) const { return flows_[transfer.folded]; }
  /// What runs message by message; nothing unless exact, or where nothing is to be sent.
  [[nodiscard]] collectives::Replay const* replay(Transfer const& transfer) const {
    if (replays_.empty() || folded(transfer).phases.empty()) return nullptr;
    return &replays_[transfer.folded];
  }

 private:
  std::vector<Transfer> transfers_;
  std::vector<std::vector<std::uint32_t>> transfer_of_part_;  // by cell, then by part of its role
  std::vector<collectives::Folded> folded_;                   // each distinct cost once
  std::vector<std::vector<TransferFlow>> flows_;              // of the same
  std::vector<collectives::Replay> replays_;                  // of the same, exact only
};

/// Merges resources that no communication of a program tells apart: if every phase puts equal loads on two resources of
/// equal bandwidth (the NVLinks of the GPUs of a node, say), both are always in the same state, and one is enough.
/// Results stay the same; the network gets small. Device memory, which kernels use too, and what `others_use` stay
/// apart. Cost O(resources × phases).
void merge_alike_resources(std::vector<collectives::Folded>& communications, topology::Topology const& topology,
                           std::vector<ResourceId> const& others_use);

/// When the bytes of a step's transfers left its ranks, by cell, then by time.
///
/// The bytes of a collective count in equal parts for the ranks of its group, those of a message for its sender. They
/// leave while the transfer's phases flow, at the speeds that the network gave them; where nothing flows (message by
/// message, or in closed form) evenly from its start to its end. Of several phases each sends in proportion to what it
/// puts on its busiest link of that kind. Cost: O(log of it) for each stretch of even speed and each cell.
[[nodiscard]] std::vector<timeline::Traffic> traffic_of(Transfers const& transfers, program::Projection const& cells,
                                                        topology::Topology const& topology,
                                                        std::span<SpeedChange const> changes);

}  // namespace twinstep::engine
