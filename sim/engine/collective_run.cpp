#include "sim/engine/collective_run.hpp"

#include <algorithm>
#include <span>

#include "sim/base/check.hpp"
#include "sim/collectives/folded.hpp"
#include "sim/collectives/replay.hpp"
#include "sim/engine/exact/message_replay.hpp"

namespace twinstep::engine {
namespace {

/// The busiest resource of each kind, from bytes of single resources. Device memory is no link.
class BusiestLinks {
 public:
  explicit BusiestLinks(topology::Topology const& topology) : topology_{topology} {}

  void add(ResourceId id, double bytes) {
    if (bytes <= 0 || id == topology_.hbm()) return;
    auto const& resource = topology_.resource(id);
    auto const busy = bytes / resource.bandwidth.count();
    auto link = std::ranges::find(links_, resource.kind, &LinkUse::kind);
    if (link == links_.end()) link = links_.insert(link, {resource.kind, resource.is_inter_node, {}, 0});
    if (busy <= link->utilisation) return;
    link->utilisation = busy;
    link->bytes = collectives::nearest_bytes(bytes);
  }

  [[nodiscard]] std::vector<LinkUse> over(Duration time) && {
    auto const seconds = to_seconds(time).count();
    for (auto& link : links_) link.utilisation = std::min(1.0, link.utilisation / seconds);
    return std::move(links_);
  }

 private:
  topology::Topology const& topology_;
  std::vector<LinkUse> links_;  // utilisation: busy seconds until `over`
};

CollectiveResult run_folded(collectives::FoldRequest const& request) {
  auto const folded = collectives::fold_as(request);
  auto links = BusiestLinks{request.topology};
  auto bytes = std::vector<double>(request.topology.resources().size());
  for (auto const& phase : folded.phases)
    for (auto const& load : phase.loads) bytes[load.resource.index()] += static_cast<double>(load.bytes.count());
  for (std::size_t r = 0; r < bytes.size(); ++r) links.add(ResourceId{r}, bytes[r]);
  auto const time = collectives::time_alone(folded, request.topology);
  return {time, 0, 0, folded.intra, folded.inter, std::move(links).over(time)};
}

std::int64_t nodes_in_use(std::span<std::vector<Place> const> groups) {
  auto last = std::uint32_t{0};
  for (auto const& places : groups)
    for (auto const& place : places) last = std::max(last, place.node);
  return std::int64_t{last} + 1;
}

/// Where the ranks of each group of a communicator sit, the group of `layout` first: the groups that share its nodes,
/// and those on the nodes between its own. Uneven layouts have one group.
std::vector<std::vector<Place>> places_of_groups(collectives::Layout const& layout,
                                                 collectives::Placement const& placement) {
  auto const is_even = layout.runs.size() == 1;
  auto const sharing = is_even ? layout.groups_per_node : 1;
  auto const between = is_even && layout.nodes() > 1 ? layout.node_stride : 1;
  auto const held = placement.ranks_per_node;
  // Groups of p ranks, `stride` apart, fill a node in blocks of p × stride GPUs with `stride` groups each.
  auto const stride = held == 1 ? sharing : layout.gpu_stride;
  auto const first = is_even ? placement.gpu(0, held) : 0;
  auto const home = first / (held * stride) * stride + first % stride;
  auto groups = std::vector<std::vector<Place>>{};
  for (auto offset = std::int64_t{0}; offset < between; ++offset) {
    for (auto g = std::int64_t{0}; g < sharing; ++g) {
      auto const group = (home + g) % sharing;
      auto const shift = group / stride * held * stride + group % stride - first;
      auto& places = groups.emplace_back();
      places.reserve(static_cast<std::size_t>(layout.ranks));
      auto node = layout.first_node + offset;
      for (auto const& run : layout.runs) {
        for (auto n = std::int64_t{0}; n < run.nodes; ++n, node += layout.node_stride)
          for (auto i = std::int64_t{0}; i < run.ranks_per_node; ++i)
            places.push_back(
                {static_cast<std::uint32_t>(node),
                 static_cast<std::uint32_t>(placement.gpu(i, run.ranks_per_node) + (is_even ? shift : 0))});
      }
    }
  }
  return groups;
}

CollectiveResult run_exact(collectives::FoldRequest const& request, collectives::Layout const& layout) {
  auto groups = places_of_groups(layout, request.placement);
  auto const replay = collectives::replay_of(request);
  auto clock = FlowClock{};
  auto const routes =
      RouteTable{request.topology, nodes_in_use(groups), request.placement.is_rail_optimised, Users::kMessages, clock};
  auto runs = std::vector<MessageReplay>{};
  runs.reserve(groups.size());
  for (auto& places : groups)
    runs.emplace_back(replay, std::move(places), routes, static_cast<std::uint32_t>(runs.size()));
  for (auto const& run : runs) run.start(clock);
  while (auto const* event = clock.next()) {
    if (event->kind() == EventKind::kMessageMayFlow)
      runs[event->subject].let_flow(clock, event->detail());
    else
      runs[event->subject].end_message(clock, event->detail());
  }

  auto result = CollectiveResult{};
  result.time = clock.now();
  result.events = clock.event_count();
  for (auto const& run : runs) {
    TWINSTEP_CHECK(run.has_ended(), "a schedule in which every message is expected comes to its end");
    result.messages += run.message_count();
  }
  result.intra = collectives::nearest_bytes(runs.front().bytes_inside());
  result.inter = collectives::nearest_bytes(runs.front().bytes_outside());
  auto links = BusiestLinks{request.topology};
  for (std::uint32_t r = 0; r < routes.size(); ++r)
    for (auto const link : routes.series(r)) links.add(link, clock.network().carried(r));
  result.links = std::move(links).over(result.time);
  return result;
}

}  // namespace

CollectiveResult run_collective(collectives::FoldRequest const& request, collectives::Layout const& layout,
                                Fidelity fidelity) {
  return fidelity == Fidelity::kExact ? run_exact(request, layout) : run_folded(request);
}

}  // namespace twinstep::engine
