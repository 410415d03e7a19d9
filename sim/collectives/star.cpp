#include "sim/collectives/star.hpp"

#include <algorithm>

namespace twinstep::collectives {

void add_star_inside(LoadSheet& sheet, FoldRequest const& request, std::int64_t i, double bytes, Direction direction) {
  auto const& at = request.placement;
  auto const root = at.gpu(0, at.ranks_per_node);
  auto const peer = at.gpu(i, at.ranks_per_node);
  sheet.add_inside(direction == Direction::kToRoot ? request.topology.within_node(peer, root)
                                                   : request.topology.within_node(root, peer),
                   bytes);
}

void add_star_outside(LoadSheet& sheet, FoldRequest const& request, double bytes, Direction direction) {
  auto const& at = request.placement;
  if (at.nodes == 1) return;
  auto const root = at.gpu(0, at.ranks_per_node);
  sheet.add_outside(
      direction == Direction::kToRoot ? request.topology.into_node(root) : request.topology.out_of_node(root),
      bytes * static_cast<double>(at.ranks - at.ranks_per_node));
  add_peer_tiers(sheet, request, bytes, 1, true);
}

std::vector<StepRun> star_steps(FoldRequest const& request) {
  auto const& at = request.placement;
  auto steps = std::vector<StepRun>{};
  auto reached = at.ranks_per_node;
  if (reached > 1) steps.push_back({reached - 1, inside_step(request)});
  for (auto level = std::size_t{1}; reached < at.ranks; ++level) {
    auto const below =
        at.leaves(level) ? std::min(at.ranks, at.nodes_per_switch_group(level) * at.ranks_per_node) : at.ranks;
    if (below > reached) steps.push_back({below - reached, between_step(request, level)});
    reached = std::max(reached, below);
  }
  return steps;
}

void add_peer_tiers(LoadSheet& sheet, FoldRequest const& request, double bytes, std::int64_t senders,
                    bool is_one_node) {
  auto const& at = request.placement;
  auto const p = static_cast<double>(at.ranks_per_node);
  for (auto level = std::size_t{1}; level < request.topology.levels(); ++level) {
    auto const is_rail = at.is_rail(level);
    if (!is_rail && !at.leaves(level)) break;
    auto const nodes = static_cast<double>(at.nodes_per_switch_group(level));
    auto const rails = is_rail ? static_cast<double>(at.nics(at.ranks_per_node)) : 1.0;
    auto const leaving = static_cast<double>(at.ranks) - p - (nodes - 1) * p / rails;
    auto const sending_nodes = is_one_node ? 1.0 : nodes;
    auto const groups = static_cast<double>(at.groups_on_switch(level));
    auto const senders_per_uplink = is_one_node ? 1.0 : static_cast<double>(senders) / rails;
    sheet.add_tier(level, bytes * leaving * senders_per_uplink * sending_nodes * groups *
                              static_cast<double>(at.interleaved(level)));
  }
}

}  // namespace twinstep::collectives
