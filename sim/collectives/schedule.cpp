#include "sim/collectives/schedule.hpp"

#include <string>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/algorithms.hpp"

namespace twinstep::collectives {

using program::CollectiveKind;

bool is_available(CollectiveKind kind, Algorithm algorithm) {
  auto const is_rooted_or_reduced =
      kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  switch (algorithm) {
    case Algorithm::kRing:
      return is_rooted_or_reduced || kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
    case Algorithm::kTree: return is_rooted_or_reduced;
    case Algorithm::kDirect: return true;
  }
  return false;
}

void require_available(CollectiveKind kind, Algorithm algorithm) {
  if (is_available(kind, algorithm)) return;
  auto known = std::string{};
  for (auto const other : {Algorithm::kRing, Algorithm::kTree, Algorithm::kDirect})
    if (is_available(kind, other)) known += (known.empty() ? "" : ", ") + std::string{name_of(other)};
  throw InputError{
      fmt::format("algorithm: \"{}\" cannot do {}; these can: {}", name_of(algorithm), name_of(kind), known)};
}

Schedule schedule_of(CollectiveKind kind, Algorithm algorithm, std::int64_t ranks, std::int64_t root,
                     std::int64_t ranks_per_node) {
  TWINSTEP_CHECK(ranks >= 1 && root >= 0 && root < ranks && ranks_per_node >= 1,
                 "a collective has ranks, and its root is one of them");
  require_available(kind, algorithm);
  switch (algorithm) {
    case Algorithm::kRing: return ring_schedule(kind, ranks, root);
    case Algorithm::kTree: return tree_schedule(kind, ranks, root, ranks_per_node);
    case Algorithm::kDirect: return direct_schedule(kind, ranks, root);
  }
  return {};
}

}  // namespace twinstep::collectives
