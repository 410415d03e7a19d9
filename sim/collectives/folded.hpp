#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/collectives/layout.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/program/kinds.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::collectives {

enum class Algorithm : std::uint8_t { kRing, kTree, kDirect };

/// Bytes that the busiest instance of a resource carries.
struct Load {
  ResourceId resource;
  Bytes bytes;
  bool operator==(Load const&) const = default;
};

/// A fixed latency, then a transfer that ends when the slowest of its loads has passed.
struct Phase {
  Duration latency;
  std::vector<Load> loads;
  bool operator==(Phase const&) const = default;
};

/// A communication folded onto the ranks that are alike: what one of them waits for and what it puts on links.
struct Folded {
  Algorithm algorithm{};
  std::vector<Phase> phases;
  Bytes intra;  ///< that leave a rank for another of its node, summed over the ranks of one group
  Bytes inter;  ///< that leave a rank for another node, likewise
};

/// Time of a folded communication alone on the network.
[[nodiscard]] Duration time_alone(Folded const& folded, topology::Topology const& topology);

/// Folds one collective. `size` is its large side (see program::Collective). Without `forced` the faster algorithm
/// for this size is chosen. One rank costs nothing: no phases.
[[nodiscard]] Folded fold(program::CollectiveKind kind, Bytes size, Layout const& layout,
                          hardware::Cluster const& cluster, topology::Topology const& topology,
                          std::optional<Algorithm> forced = {});

/// Folds one message between two ranks.
[[nodiscard]] Folded fold_message(Bytes size, RankId from, RankId to, hardware::Cluster const& cluster,
                                  topology::Topology const& topology);

}  // namespace twinstep::collectives

template <>
struct twinstep::EnumNames<twinstep::collectives::Algorithm> {
  static constexpr std::array<std::string_view, 3> values{"ring", "tree", "direct"};
};
