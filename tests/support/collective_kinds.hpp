#pragma once

#include "sim/program/kinds.hpp"

namespace twinstep::tests {

inline constexpr program::CollectiveKind kCollectiveKinds[] = {
    program::CollectiveKind::kAllReduce, program::CollectiveKind::kAllGather, program::CollectiveKind::kReduceScatter,
    program::CollectiveKind::kBroadcast, program::CollectiveKind::kReduce,    program::CollectiveKind::kGather,
    program::CollectiveKind::kScatter,   program::CollectiveKind::kAllToAll};

}  // namespace twinstep::tests
