#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "validate/cpu/gloo/collectives.hpp"
#include "validate/cpu/gloo/peers.hpp"
#include "validate/cpu/shared_memory.hpp"
#include "validate/cpu/transport.hpp"

namespace twinstep::cpu {

/// The connections of one process: a group of its own for each communicator, so that those of different communicators
/// do not wait for each other, and one for messages. Made when first needed, and kept.
class Connections {
 public:
  explicit Connections(Peers& peers) : peers_{&peers} {}

  /// Connects what `program` needs. All processes call it with the same programs.
  void prepare(program::StepProgram const& program);
  /// By communicator of the last program; null where this process is alone in its group.
  [[nodiscard]] std::vector<Group*> const& groups() const { return groups_; }
  /// Null if no program has messages.
  [[nodiscard]] gloo::Context* messages() const { return messages_.get(); }

 private:
  Peers* peers_;
  std::map<std::pair<std::vector<RankId>, std::size_t>, Group> made_;  // by ranks, and how many of the same came before
  std::vector<Group*> groups_;
  std::shared_ptr<gloo::Context> messages_;
};

/// Carries out the communications of this process's rank over the network, during one step.
class GlooTransport final : public Transport {
 public:
  GlooTransport(program::StepProgram const& program, Peers& peers, Connections& connections, Board& board,
                StepClock const& clock);

  [[nodiscard]] std::unique_ptr<Transfer> issue(RankId rank,
                                                std::span<program::CommunicationPart const* const> parts) override;
  [[nodiscard]] timeline::WireBytes wire() const override { return wire_; }

 private:
  class Post;

  /// A collective with its place in the order of its group.
  struct Turn {
    std::size_t communicator = 0;
    std::uint32_t number = 0;            // in the group
    std::vector<std::int64_t> elements;  // by place
  };
  /// A message to or from another rank, and which one of its pair it is: no other has the number.
  struct Message {
    RankId peer;
    std::uint64_t number = 0;
  };
  [[nodiscard]] Turn take_turn(program::Collective const& collective);
  [[nodiscard]] Message address(program::PointToPoint const& message);
  void count_bytes(RankId to, DataType type, std::int64_t elements);

  program::StepProgram const& program_;
  Peers& peers_;
  Connections& connections_;
  StepClock const& clock_;
  SharedMemory alone_;  // messages to itself, and groups of one

  /// By role and communicator: its collectives in order, so that a rank knows how much others send in all_to_all.
  std::vector<std::vector<std::vector<program::Collective const*>>> collectives_;
  std::vector<std::size_t> issued_;  // by communicator, in this step
  // By peer and communicator, and whether they are sent.
  std::map<std::tuple<RankId, CommunicatorId, bool>, std::uint64_t> messages_issued_;
  timeline::WireBytes wire_;  // counted by the host
};

}  // namespace twinstep::cpu
