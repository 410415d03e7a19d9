#include "sim/collectives/uneven.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"

namespace twinstep::collectives {
namespace {

/// Where a rank sits.
struct Seat {
  std::int64_t node = 0;
  std::int64_t gpu = 0;
};

std::vector<Seat> seats(Placement const& at) {
  auto out = std::vector<Seat>{};
  auto node = std::int64_t{0};
  for (auto const held : at.held_by_node()) {
    for (auto i = std::int64_t{0}; i < held; ++i) out.push_back({node, at.gpu(i, held)});
    ++node;
  }
  return out;
}

/// Calls `visit` with every pair of different ranks that share a node or do not, and the bytes from one to the other.
template <class Visit>
void for_each_pair(FoldRequest const& request, std::vector<Seat> const& seat, Visit visit) {
  for (auto from = std::size_t{0}; from < seat.size(); ++from)
    for (auto to = std::size_t{0}; to < seat.size(); ++to)
      if (from != to)
        visit(seat[from], seat[to],
              request.splits.count(static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)));
}

/// The bytes of the busiest switch of a tier, up or down. On a rail-optimised leaf a switch is a rail of its group.
std::int64_t busiest_switch(FoldRequest const& request, std::vector<Seat> const& seat, std::size_t level) {
  auto const& at = request.placement;
  auto const is_rail = at.is_rail(level);
  auto const rails = is_rail ? request.topology.nics() : 1;
  auto const switch_of = [&](Seat const& each) {
    auto const rail = is_rail ? request.topology.nic_of(each.gpu) : 0;
    return static_cast<std::size_t>(at.switch_group_of(level, each.node) * rails + rail);
  };
  auto up = std::vector<std::int64_t>(static_cast<std::size_t>(at.switch_groups(level) * rails));
  auto down = up;
  for_each_pair(request, seat, [&](Seat const& from, Seat const& to, std::int64_t bytes) {
    if (from.node == to.node || switch_of(from) == switch_of(to)) return;
    up[switch_of(from)] += bytes;
    down[switch_of(to)] += bytes;
  });
  return std::max(*std::ranges::max_element(up), *std::ranges::max_element(down));
}

}  // namespace

UnevenLoads uneven_loads(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const seat = seats(at);
  TWINSTEP_CHECK(request.splits.ranks() == at.ranks, "an uneven all_to_all has a split for each of its ranks");
  auto loads = UnevenLoads{LoadSheet{request}, {}, {}};
  auto nodes = std::vector<LoadSheet>(static_cast<std::size_t>(at.nodes), LoadSheet{request});
  auto most_sent = std::int64_t{0};
  for_each_pair(request, seat, [&](Seat const& from, Seat const& to, std::int64_t count) {
    auto const bytes = static_cast<double>(count);
    auto& sender = nodes[static_cast<std::size_t>(from.node)];
    if (from.node == to.node) {
      sender.add_inside(request.topology.within_node(from.gpu, to.gpu), bytes);
      loads.inside += Bytes{count};
      return;
    }
    sender.add_outside(request.topology.out_of_node(from.gpu), bytes);
    nodes[static_cast<std::size_t>(to.node)].add_outside(request.topology.into_node(to.gpu), bytes);
    loads.outside += Bytes{count};
  });
  for (auto const& node : nodes) loads.sheet.take_larger(node);
  for (auto level = std::size_t{1}; at.nodes > 1 && level < request.topology.levels(); ++level) {
    auto const bytes = busiest_switch(request, seat, level);
    if (bytes > 0)
      loads.sheet.add_tier(
          level, static_cast<double>(bytes) * static_cast<double>(at.groups_on_switch(level) * at.interleaved(level)));
  }
  for (auto rank = std::int64_t{0}; rank < at.ranks; ++rank)
    most_sent = std::max(most_sent, request.splits.sent(rank) - request.splits.count(rank, rank));
  loads.sheet.add_memory(static_cast<double>(most_sent));
  return loads;
}

}  // namespace twinstep::collectives
