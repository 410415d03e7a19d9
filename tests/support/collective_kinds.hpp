#pragma once

#include "sim/base/collective_kind.hpp"

namespace twinstep::tests {

inline constexpr CollectiveKind kCollectiveKinds[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
    CollectiveKind::kReduce,    CollectiveKind::kGather,    CollectiveKind::kScatter,       CollectiveKind::kAllToAll};

}  // namespace twinstep::tests
