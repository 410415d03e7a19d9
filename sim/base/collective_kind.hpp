#pragma once

#include <cstdint>

#include "sim/base/enum_names.hpp"

namespace twinstep {

/// The eight collectives, in NCCL's sense. `elements` is always the large side, as nccl-tests counts it.
enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll
};

template <>
struct EnumNames<CollectiveKind> {
  static constexpr std::array<std::string_view, 8> values{"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                                          "reduce",     "gather",     "scatter",        "all_to_all"};
};

/// Whether it adds up what ranks contribute.
[[nodiscard]] constexpr bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}
/// Whether one rank is its root.
[[nodiscard]] constexpr bool has_root(CollectiveKind kind) {
  return kind >= CollectiveKind::kBroadcast && kind <= CollectiveKind::kScatter;
}
/// Whether each rank has a share of the large side: it is cut in as many parts as there are ranks.
[[nodiscard]] constexpr bool has_shares(CollectiveKind kind) {
  return kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kBroadcast && kind != CollectiveKind::kReduce;
}

}  // namespace twinstep
