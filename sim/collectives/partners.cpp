#include "sim/collectives/partners.hpp"

#include <algorithm>

namespace twinstep::collectives {
namespace {

/// Whether every exchange of the step stays inside a node.
bool stays_inside(Placement const& at, PartnerStep const& step) {
  auto const fits = [&](std::int64_t held) { return held % (2 * step.distance) == 0; };
  return at.nodes == 1 || (step.is_swap && std::ranges::all_of(at.ranks_held(), fits));
}

/// On a rail-optimised leaf, a partner on another rail is one tier further away.
bool changes_rail(Placement const& at, PartnerStep const& step) {
  return at.is_rail_optimised && step.distance % at.ranks_per_node != 0;
}

/// Of `block` neighbouring ranks, those whose partner lies outside, if ranks send onwards round a circle.
std::int64_t leaving(Placement const& at, PartnerStep const& step, std::int64_t block) {
  if (step.is_swap) return block % (2 * step.distance) == 0 ? 0 : std::min(step.distance, block);
  auto const staying =
      std::max<std::int64_t>(0, block - step.distance) + std::max<std::int64_t>(0, block - (at.ranks - step.distance));
  return block - staying;
}

void add_exchange(LoadSheet& sheet, FoldRequest const& request, PartnerStep const& step, std::int64_t i,
                  std::int64_t held) {
  auto const& at = request.placement;
  auto const gpu = at.gpu(i, held);
  auto const partner = i ^ step.distance;
  if (partner < held) sheet.add_inside(request.topology.within_node(gpu, at.gpu(partner, held)), step.bytes);
  if (stays_inside(at, step)) return;
  sheet.add_outside(request.topology.out_of_node(gpu), step.bytes);
  sheet.add_outside(request.topology.into_node(gpu), step.bytes);
}

void add_onwards(LoadSheet& sheet, FoldRequest const& request, PartnerStep const& step, std::int64_t i,
                 std::int64_t held) {
  auto const& at = request.placement;
  auto const gpu = at.gpu(i, held);
  auto const back = at.ranks - step.distance;  // onwards round the circle
  auto const to = i + step.distance < held ? i + step.distance : i - back;
  if (to >= 0)
    sheet.add_inside(request.topology.within_node(gpu, at.gpu(to, held)), step.bytes);
  else
    sheet.add_outside(request.topology.out_of_node(gpu), step.bytes);
  if (i - step.distance < 0 && i + back >= held) sheet.add_outside(request.topology.into_node(gpu), step.bytes);
}

/// Ranks that send through the uplinks of one switch of `level`.
double senders_up(Placement const& at, PartnerStep const& step, std::size_t level) {
  auto const nodes = at.nodes_per_switch_group(level);
  auto senders = at.leaves(level) ? leaving(at, step, nodes * at.ranks_per_node) : 0;
  if (!at.is_rail(level)) return static_cast<double>(senders);
  if (changes_rail(at, step) && !stays_inside(at, step))
    senders = std::max(senders, nodes * leaving(at, step, at.ranks_per_node));
  return static_cast<double>(senders) / static_cast<double>(at.nics(at.ranks_per_node));
}

void add_tiers(LoadSheet& sheet, FoldRequest const& request, std::span<PartnerStep const> steps) {
  auto const& at = request.placement;
  for (auto level = std::size_t{1}; level < request.topology.levels(); ++level) {
    auto bytes = 0.0;
    for (auto const& step : steps) bytes += step.bytes * senders_up(at, step, level);
    if (bytes > 0)
      sheet.add_tier(level, bytes * static_cast<double>(at.groups_on_switch(level) * at.interleaved(level)));
  }
}

}  // namespace

Duration latency_of(FoldRequest const& request, PartnerStep const& step) {
  auto const& at = request.placement;
  if (stays_inside(at, step)) return inside_step(request);
  auto level = at.meeting(divide_up(step.distance, at.ranks_per_node));
  if (changes_rail(at, step)) level = std::max(level, std::min<std::size_t>(2, request.topology.levels()));
  return between_step(request, level);
}

LoadSheet loads_of(FoldRequest const& request, std::span<PartnerStep const> steps) {
  auto const& at = request.placement;
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    for (auto const& step : steps)
      for (auto i = std::int64_t{0}; i < held; ++i)
        step.is_swap ? add_exchange(node, request, step, i, held) : add_onwards(node, request, step, i, held);
    sheet.take_larger(node);
  }
  if (at.nodes > 1) add_tiers(sheet, request, steps);
  for (auto const& step : steps) sheet.add_memory(step.bytes);
  return sheet;
}

std::int64_t partners_in_nodes(Placement const& at, PartnerStep const& step, std::int64_t ranks) {
  if (stays_inside(at, step)) return ranks;
  if (!step.is_swap) return at.neighbours_in_nodes(step.distance) + at.neighbours_in_nodes(at.ranks - step.distance);
  return at.neighbours_in_nodes(step.distance) * ranks / at.ranks;
}

}  // namespace twinstep::collectives
