#include "sim/program/bus_bandwidth.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "explore/ask/parallel.hpp"
#include "explore/scale/closer_look.hpp"
#include "sim/collectives/benchmark.hpp"
#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::explore {
namespace {

using namespace literals;

constexpr auto kSmallestMessage = 1_KiB;
constexpr auto kLargestMessage = 4_GiB;

/// The messages of one kind of collective on one layout, by strategy.
struct Traffic {
  CollectiveKind kind{};
  DataType type{};
  program::Reduction reduction{};
  collectives::Layout layout;
  std::map<std::string, std::map<Bytes, std::int64_t>> counts;  ///< by strategy and size
};

/// Finds or makes the entry of a collective.
Traffic& entry_of(std::vector<Traffic>& all, program::Collective const& collective, collectives::Layout const& layout) {
  auto const found = std::ranges::find_if(all, [&](Traffic const& each) {
    return each.kind == collective.kind && each.type == collective.type && each.reduction == collective.reduction &&
           each.layout == layout;
  });
  if (found != all.end()) return *found;
  all.push_back({collective.kind, collective.type, collective.reduction, layout, {}});
  return all.back();
}

void add_messages(std::vector<Traffic>& all, Run const& run, std::int64_t gpus_per_node, std::string const& title) {
  auto const& step = run.step;
  for (auto const& track : run.timeline.tracks) {
    auto const& role = step.roles[step.role_of(track.rank).index()];
    for (auto const& operation : role.operations) {
      auto const* communication = std::get_if<program::Communication>(&operation.work);
      if (communication == nullptr) continue;
      for (auto const& part : role.parts_of(*communication)) {
        auto const* collective = std::get_if<program::Collective>(&part);
        if (collective == nullptr) continue;
        auto const along = step.communicators[collective->communicator.index()].along;
        auto const layout = collectives::layout_of(step.grids, along, track.rank, gpus_per_node);
        if (layout.ranks < 2) continue;
        ++entry_of(all, *collective, layout).counts[title][program::payload(step, part, track.rank)];
      }
    }
  }
}

/// The collectives of one kind on one layout.
class Meter {
 public:
  Meter(Traffic const& traffic, hardware::Cluster const& cluster)
      : traffic_{traffic}, cluster_{cluster}, topology_{cluster}, chooser_{traffic.layout, cluster_, topology_} {}

  [[nodiscard]] CollectiveSample measure(Bytes size) const {
    auto const asked = collectives::Question{traffic_.kind, size, traffic_.reduction, traffic_.type, {}};
    auto const choice = chooser_.choose(asked);
    auto const time = collectives::time_alone(collectives::fold_as(chooser_.request(asked, choice)), topology_);
    auto const way = fmt::format("{}, {}", name_of(choice.algorithm), name_of(choice.protocol));
    auto sample = CollectiveSample{.size = size, .way = way, .bus = rate(size, time), .low = {}, .high = {}};
    auto const swept = collectives::Sweep{traffic_.kind, traffic_.layout.ranks, traffic_.layout.nodes()};
    if (auto const interval = collectives::interval_of(time, swept, size, cluster_.library)) {
      sample.low = rate(size, interval->second);
      sample.high = rate(size, interval->first);
    }
    return sample;
  }
  /// `size` in whole elements, as many for each rank where ranks hold parts.
  [[nodiscard]] Bytes whole(Bytes size) const {
    auto const unit = size_of(traffic_.type) * (has_shares(traffic_.kind) ? traffic_.layout.ranks : 1);
    return unit * std::max(size / unit, std::int64_t{1});
  }

 private:
  [[nodiscard]] BytesPerSecond rate(Bytes size, Duration time) const {
    if (time <= Duration{}) return {};
    return program::collective_rates(traffic_.kind, traffic_.layout.ranks, size, time).bus;
  }

  Traffic const& traffic_;
  hardware::Cluster const& cluster_;
  topology::Topology topology_;
  collectives::Chooser chooser_;
};

std::vector<CollectiveSample> samples_of(Meter const& meter) {
  auto samples = std::vector<CollectiveSample>{};
  for (auto size = kSmallestMessage; size <= kLargestMessage; size = size * 2)
    if (auto const whole = meter.whole(size); samples.empty() || samples.back().size < whole)
      samples.push_back(meter.measure(whole));
  return samples;
}

CollectiveCurve curve_of(Traffic const& traffic, hardware::Cluster const& cluster) {
  auto const meter = Meter{traffic, cluster};
  auto curve = CollectiveCurve{.kind = traffic.kind,
                               .type = traffic.type,
                               .ranks = traffic.layout.ranks,
                               .nodes = traffic.layout.nodes(),
                               .groups_per_node = traffic.layout.groups_per_node,
                               .samples = samples_of(meter),
                               .strategies = {}};
  for (auto const& [title, counts] : traffic.counts) {
    auto& messages = curve.strategies.emplace_back(StrategyMessages{title, {}}).messages;
    for (auto const& [size, count] : counts)
      if (size > Bytes{}) messages.push_back({count, meter.measure(size)});
  }
  return curve;
}

}  // namespace

std::vector<CollectiveCurve> collective_curves(Answered const& question) {
  auto all = std::vector<Traffic>{};
  auto const& cluster = *question.scenarios.front().cluster;
  for (std::size_t i = 0; i < question.outcomes.size(); ++i)
    if (auto const* run = question.run(i))
      add_messages(all, *run, cluster.node().gpus, question.scenarios[i].strategy_title);
  return map_indices(all.size(), [&](std::size_t i) { return curve_of(all[i], cluster); });
}

}  // namespace twinstep::explore
