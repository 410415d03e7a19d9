#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"
#include "validate/cpu/numbers.hpp"

namespace twinstep::cpu {

/// What one rank brings to a collective, or to a message as its sender or its receiver.
struct Member {
  RankId rank;
  std::string operation;                             ///< which of its operations, for messages
  program::CommunicationPart const* part = nullptr;  ///< what it takes part in
  std::int64_t elements = 0;                         ///< of the part, on this rank
  std::int64_t root = 0;                             ///< of a collective, as this rank has it
  Numbers sent;
  Numbers received;
};

/// Moves the data of one collective among its members, listed by their place in the communicator.
///
/// Sums are taken in double, in the order of places, and rounded once, so all ranks hold the same bits. Everything is
/// read before anything is written, so a rank may receive where it sends. An operand that a collective does not use (a
/// receive buffer away from the root of a gather, say) is left alone.
///
/// @param meeting  "operation 3 on communicator "data"", for messages
/// @return bytes that leave ranks, summed over the members, by the algorithm that needs fewest on a ring. For n ranks
///   and N bytes of the large side: 2(n-1)N for all_reduce; (n-1)N for all_gather, reduce_scatter, broadcast and
///   reduce; what is not for the root or the sender itself for gather, scatter and all_to_all.
///   Source: nccl-tests, doc/PERFORMANCE.md (bus bandwidth), times n ranks.
/// @throws InputError if the members do not agree on what they do, or a region has the wrong size
/// Cost O(members × elements).
Bytes exchange(std::span<Member const> members, std::string const& meeting);

/// Copies a message. Returns the bytes that leave the sender: none to itself.
/// @throws InputError if the two sides do not agree on type and size
Bytes pass_message(Member const& sender, Member const& receiver, std::string const& meeting);

}  // namespace twinstep::cpu
