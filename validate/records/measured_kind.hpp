#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/collective_kind.hpp"
#include "sim/base/enum_names.hpp"

namespace twinstep::validate {

/// What a benchmark of communication ran: a collective, in their order, or neighbours that send and receive.
enum class MeasuredKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kSendReceive  ///< every rank sends to the next one
};

/// The collective of the same name; nothing for send and receive.
[[nodiscard]] constexpr std::optional<CollectiveKind> collective_of(MeasuredKind kind) {
  if (kind == MeasuredKind::kSendReceive) return std::nullopt;
  return static_cast<CollectiveKind>(kind);
}

}  // namespace twinstep::validate

namespace twinstep {
template <>
struct EnumNames<validate::MeasuredKind> {
  static constexpr std::array<std::string_view, 9> values{
      "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "alltoall", "sendrecv"};
};
}  // namespace twinstep
