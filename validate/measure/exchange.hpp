#pragma once

#include <cstdint>
#include <optional>

#include "sim/program/builder.hpp"

namespace twinstep::measure {

/// All ranks exchange data: a collective, or every rank sends to the next one and receives from the one before.
struct Exchange {
  std::optional<CollectiveKind> kind = CollectiveKind::kAllReduce;  ///< nothing: send and receive
  program::Reduction reduction = program::Reduction::kSum;
  DataType type = DataType::kFp32;
  std::int64_t elements = 1;  ///< of the large side; a multiple of the ranks where they have shares
  bool is_in_place = false;   ///< never for all_to_all, and for send and receive

  [[nodiscard]] bool can_be_in_place() const { return kind && *kind != CollectiveKind::kAllToAll; }
  [[nodiscard]] bool has_shares() const { return kind && twinstep::has_shares(*kind); }
};

/// Which part of a buffer of the large side a rank uses.
enum class Part : std::uint8_t { kWhole, kShare };
[[nodiscard]] Part sent_part(Exchange const& exchange);
[[nodiscard]] Part received_part(Exchange const& exchange);

/// What rank `rank` of `ranks` has in the end at element `i` of what it receives, if rank r sends initial_value(r, i).
[[nodiscard]] double expected_value(Exchange const& exchange, std::int64_t ranks, RankId rank, std::int64_t i);
/// How many elements it receives: none away from the root of a reduce or a gather.
[[nodiscard]] std::int64_t received_elements(Exchange const& exchange, std::int64_t ranks, RankId rank);

/// Where a rank reads and writes, and its neighbours on the ring of all ranks.
struct ExchangePlan {
  program::Region sent;
  program::Region received;
  program::RankValue next;  ///< for send and receive
  program::RankValue previous;
};
/// Both buffers hold the large side; in place, all lies in `received`, a share at the rank's place in the whole.
[[nodiscard]] ExchangePlan plan_of(Exchange const& exchange, BufferId sent, BufferId received,
                                   program::ProgramBuilder& builder);

/// Adds the exchange to `stream`. The ranks of `communicator` are all ranks, along the axis "data".
OpId add_exchange(program::ProgramBuilder& builder, program::RoleBuilder& role, StreamId stream,
                  CommunicatorId communicator, Exchange const& exchange, ExchangePlan const& plan);

}  // namespace twinstep::measure
