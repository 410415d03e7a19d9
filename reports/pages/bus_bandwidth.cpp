#include "sim/program/bus_bandwidth.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "explore/ask/parallel.hpp"
#include "reports/pages/regions.hpp"
#include "reports/pages/sections.hpp"
#include "reports/quantity_text.hpp"
#include "sim/collectives/benchmark.hpp"
#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::pages {
namespace {

using namespace explore;

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

/// One size on the curve.
struct Sample {
  Bytes size;
  std::string way;  ///< "ring, simple"
  double rate = 0;  ///< GB/s
  std::optional<double> low;
  std::optional<double> high;
};

/// The collectives of one kind on one layout.
class Meter {
 public:
  Meter(Traffic const& traffic, hardware::Cluster const& cluster)
      : traffic_{traffic}, cluster_{cluster}, topology_{cluster}, chooser_{traffic.layout, cluster_, topology_} {}

  [[nodiscard]] Sample measure(Bytes size) const {
    auto const question = collectives::Question{traffic_.kind, size, traffic_.reduction, traffic_.type, {}};
    auto const choice = chooser_.choose(question);
    auto const time = collectives::time_alone(collectives::fold_as(chooser_.request(question, choice)), topology_);
    auto const way = fmt::format("{}, {}", name_of(choice.algorithm), name_of(choice.protocol));
    auto sample = Sample{.size = size, .way = way, .rate = rate(size, time)};
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
  [[nodiscard]] double rate(Bytes size, Duration time) const {
    if (time <= Duration{}) return 0;
    return program::collective_rates(traffic_.kind, traffic_.layout.ranks, size, time).bus.count() * 1e-9;
  }

  Traffic const& traffic_;
  hardware::Cluster const& cluster_;
  topology::Topology topology_;
  collectives::Chooser chooser_;
};

reports::ChartPoint point_of(Sample const& sample, std::string note) {
  return {.x = static_cast<double>(sample.size.count()),
          .y = sample.rate,
          .y_low = sample.low,
          .y_high = sample.high,
          .note = std::move(note)};
}

/// The line, and a region for every stretch of sizes that are done in one way.
void add_curve(reports::Chart& chart, Meter const& meter) {
  auto series = reports::Series{.name = "bus bandwidth"};
  for (auto size = kSmallestMessage; size <= kLargestMessage; size = size * 2) {
    auto const sample = meter.measure(meter.whole(size));
    auto const x = static_cast<double>(sample.size.count());
    if (!series.points.empty() && series.points.back().x >= x) continue;
    add_to_regions(chart.x_marks, x, sample.way);
    series.points.push_back(point_of(sample, sample.way));
  }
  chart.series.push_back(std::move(series));
}

void add_messages_of_step(reports::Chart& chart, Meter const& meter, Traffic const& traffic) {
  for (auto const& [title, counts] : traffic.counts) {
    auto series = reports::Series{.name = title, .style = reports::SeriesStyle::kPoints};
    for (auto const& [size, count] : counts) {
      if (size <= Bytes{}) continue;
      auto const sample = meter.measure(size);
      series.points.push_back(
          point_of(sample, fmt::format("{} of {} a step, {}", count, reports::memory_text(size), sample.way)));
    }
    chart.series.push_back(std::move(series));
  }
}

std::string place_text(collectives::Layout const& layout) {
  auto const nodes = layout.nodes();
  auto const beside = layout.groups_per_node > 1 ? fmt::format(", {} such groups at once", layout.groups_per_node) : "";
  return fmt::format("{} ranks on {} node{}{}", layout.ranks, nodes, nodes == 1 ? "" : "s", beside);
}

reports::Chart chart_of(Traffic const& traffic, hardware::Cluster const& cluster, std::size_t place) {
  auto const meter = Meter{traffic, cluster};
  auto chart = reports::Chart{.id = fmt::format("bus-bandwidth-{}", place + 1)};
  chart.title = fmt::format("{} of {}, {}", name_of(traffic.kind), name_of(traffic.type), place_text(traffic.layout));
  chart.x = {.name = "message size", .unit = "B", .is_logarithmic = true};
  chart.y = {.name = "bus bandwidth", .unit = "GB/s"};
  add_curve(chart, meter);
  add_messages_of_step(chart, meter, traffic);
  return chart;
}

}  // namespace

reports::Section bus_bandwidth_section(Question const& question) {
  auto section = reports::Section{.title = "Bus bandwidth of the step's collectives"};
  auto all = std::vector<Traffic>{};
  auto const& cluster = question.scenarios.front().cluster;
  for (std::size_t i = 0; i < question.outcomes.size(); ++i)
    if (auto const* run = question.run(i))
      add_messages(all, *run, cluster.node().gpus, question.scenarios[i].strategy_title);
  if (all.empty()) {
    section.text = "The steps issue no collectives.";
    return section;
  }
  section.text =
      "Each collective alone on the machine, as nccl-tests counts its bandwidth, with the algorithm and "
      "protocol that the library takes at each size; points are the messages that the steps issue.";
  section.charts = map_indices(all.size(), [&](std::size_t i) { return chart_of(all[i], cluster, i); });
  return section;
}

}  // namespace twinstep::pages
