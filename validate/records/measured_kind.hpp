#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string_view>

#include "sim/base/collective_kind.hpp"

namespace twinstep::validate {

/// What a benchmark of communication ran: a collective, or neighbours that send and receive.
struct MeasuredKind {
  // NOLINTNEXTLINE(google-explicit-constructor): a collective is one of them
  constexpr MeasuredKind(std::optional<CollectiveKind> its_collective) : collective{its_collective} {}
  constexpr MeasuredKind(CollectiveKind its_collective) : collective{its_collective} {}  // NOLINT: likewise
  constexpr auto operator<=>(MeasuredKind const&) const = default;

  std::optional<CollectiveKind> collective;  ///< nothing: every rank sends to the next one
};

inline constexpr auto kSendReceive = MeasuredKind{std::nullopt};

/// Their words in records: collectives in their order, then send and receive.
inline constexpr auto kMeasuredWords = std::to_array<std::string_view>(
    {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "alltoall", "sendrecv"});

[[nodiscard]] constexpr std::string_view word_of(MeasuredKind kind) {
  return kind.collective ? kMeasuredWords[static_cast<std::size_t>(*kind.collective)] : kMeasuredWords.back();
}

}  // namespace twinstep::validate
