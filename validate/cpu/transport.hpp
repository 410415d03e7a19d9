#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cpu/exchange.hpp"

namespace twinstep::cpu {

/// "rank 0 waits in stream "comm" for WHOM to come to all_reduce "gradient"", where `whom` is told.
using WaitingFor = std::function<std::string(std::string_view whom)>;

/// One communication of one rank, with all of its parts, from its issue to its end.
class Transfer {
 public:
  Transfer() = default;
  Transfer(Transfer const&) = delete;
  Transfer& operator=(Transfer const&) = delete;
  virtual ~Transfer() = default;

  /// Moves the data of this rank, of which `members` has one entry for each part, and returns when it is over for this
  /// rank. The parts start together: none waits for another to end, but collectives of one communicator follow each
  /// other. Returns the end.
  /// @throws InputError if ranks disagree, or a peer is lost
  virtual Time carry_out(std::vector<Member> members, WaitingFor const& waiting_for) = 0;
};

/// How the communications of one step are carried out: in memory, or over a network.
class Transport {
 public:
  Transport() = default;
  Transport(Transport const&) = delete;
  Transport& operator=(Transport const&) = delete;
  virtual ~Transport() = default;

  /// Takes the places of a communication's parts, which `rank` issues now, in the order of their communicators and
  /// pairs. Called by the rank's host alone.
  [[nodiscard]] virtual std::unique_ptr<Transfer> issue(RankId rank,
                                                        std::span<program::CommunicationPart const* const> parts) = 0;
  /// What left ranks so far; complete when all threads of the step have returned.
  [[nodiscard]] virtual timeline::WireBytes wire() const = 0;
};

}  // namespace twinstep::cpu
