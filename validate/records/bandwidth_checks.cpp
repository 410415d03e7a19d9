#include "validate/records/bandwidth_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/program/bus_bandwidth.hpp"

namespace twinstep::validate {
namespace {

using namespace literals;

double gigabytes(BytesPerSecond rate) {
  return rate.count() / 1e9;
}

/// A reading of a record's columns under which size over time is `factor` times algbw.
struct Reading {
  double factor;
  std::string text;
};

std::vector<Reading> readings(CollectiveRecord const& record) {
  auto const ranks = static_cast<double>(record.ranks);
  return {{1e3, "times are in ms"},
          {1e6, "times are in s"},
          {1e-3, "times are in ns, or algbw is in MB/s"},
          {1.0 / 8, "algbw is in Gbit/s"},
          {8, "sizes count bits"},
          {0x1p30 / 1e9, "algbw is in GiB/s"},
          {1.0 / 1024, "sizes are in KiB"},
          {0x1p-20, "sizes are in MiB"},
          {1.0 / 2, "sizes count elements of 2 bytes"},
          {1.0 / 4, "sizes count elements of 4 bytes"},
          {1 / ranks, "sizes are one rank's share of the whole"},
          {ranks, "algbw is one rank's share of the whole"},
          {1 / bus_factor(record.kind, record.ranks), "algbw is the bus bandwidth"}};
}

/// Whether the digits of algbw tell it to 1 %.
bool has_digits(MeasuredPoint const& point) {
  constexpr double kParts = 100;
  return point.algorithm_bandwidth && *point.algorithm_bandwidth > rounding(*point.algorithm_bandwidth) * kParts;
}

/// size over time, divided by algbw, of the points whose algbw has digits enough.
std::vector<double> unit_factors(CollectiveRecord const& record) {
  auto factors = std::vector<double>{};
  for (auto const& point : record.points)
    if (has_digits(point)) factors.push_back(rate_of(point) / *point.algorithm_bandwidth);
  std::ranges::sort(factors);
  return factors;
}

constexpr double kSame = 0.03;  ///< two figures of one row, rounded each

bool is_near(double value, double wanted) {
  return std::abs(value / wanted - 1) < kSame;
}

constexpr auto kInfinite = BytesPerSecond{std::numeric_limits<double>::infinity()};

/// How the ranks of a record lie on its machine, and what carries their bytes.
struct Lanes {
  double in_node = 1;  ///< ranks of one node
  double nodes = 1;
  BytesPerSecond link;       ///< of one GPU to the others of its node; infinite where it has none there
  BytesPerSecond to_others;  ///< of a node, by its NICs or its GPUs' slots; infinite on one node
};

Lanes lanes_of(CollectiveRecord const& record, hardware::Cluster const& machine) {
  auto const& node = machine.node();
  auto lanes = Lanes{};
  lanes.in_node = static_cast<double>(std::min(record.ranks, node.gpus));
  lanes.nodes = std::ceil(static_cast<double>(record.ranks) / lanes.in_node);
  lanes.link = lanes.in_node > 1 ? node.gpu_link.value : kInfinite;
  auto const nics = std::min(node.nic.value, machine.fabric.port.value) * static_cast<double>(machine.nics());
  auto const slots = node.pcie.value > BytesPerSecond{} ? node.pcie.value * lanes.in_node : kInfinite;
  lanes.to_others = lanes.nodes > 1 ? std::min(nics, slots) : kInfinite;
  return lanes;
}

/// The highest bus bandwidth that the links allow, whatever the algorithm: by the bytes that must enter a GPU or leave
/// a node. A switch that reduces and multicasts halves what an all_reduce sends.
BytesPerSecond most_possible(CollectiveRecord const& record, hardware::Cluster const& machine, Lanes const& lanes) {
  auto const factor = bus_factor(record.kind, record.ranks);
  auto const is_all_reduce = record.kind == CollectiveKind::kAllReduce;
  auto const reduces_in_switch = is_all_reduce && machine.node().link.multicast_efficiency.value > 0;
  auto const within = reduces_in_switch ? lanes.link * factor : lanes.link;
  if (lanes.nodes < 2) return within;
  auto const share = (lanes.nodes - 1) / lanes.nodes;
  auto between = lanes.to_others * factor;  // each byte leaves a node once
  if (is_all_reduce && !record.environment.contains("SHARP")) between = between / (2 * share);
  if (record.kind == CollectiveKind::kAllGather || record.kind == CollectiveKind::kReduceScatter)
    between = between / share;
  if (record.kind == CollectiveKind::kAllToAll) between = between / (lanes.in_node * share);
  return std::min(within, between);
}

/// What a ring reaches at best, which passes every link once each way; all_to_all has no better way than its bytes.
BytesPerSecond usual(CollectiveRecord const& record, hardware::Cluster const& machine, Lanes const& lanes) {
  if (record.kind == CollectiveKind::kAllToAll) return most_possible(record, machine, lanes);
  return std::min(lanes.link, lanes.to_others);
}

}  // namespace

BytesPerSecond rounding(BytesPerSecond rate) {
  return BytesPerSecond{rate.count() < 1000e9 ? 0.005e9 : 0.05e9};
}

BytesPerSecond rate_of(MeasuredPoint const& point) {
  return BytesPerSecond{static_cast<double>(point.size.count()) / point.time.count()};
}

double bus_factor(MeasuredKind kind, std::int64_t ranks) {
  auto const collective = kind.collective;
  return collective ? program::bus_factor(*collective, ranks) : 1.0;
}

std::optional<BytesPerSecond> best_bus_bandwidth(CollectiveRecord const& record, Bytes least) {
  auto best = std::optional<BytesPerSecond>{};
  for (auto const& point : record.points)
    if (!point.is_outlier && point.size >= least)
      best = std::max(best.value_or(BytesPerSecond{}), rate_of(point) * bus_factor(record.kind, record.ranks));
  return best;
}

std::string size_text(Bytes size) {
  constexpr auto kUnits = std::to_array<std::string_view>({"B", "KiB", "MiB", "GiB", "TiB"});
  auto value = static_cast<double>(size.count());
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

void check_units(CollectiveRecord const& record, std::vector<std::string>& found) {
  auto const factors = unit_factors(record);
  if (factors.empty()) return;
  auto const factor = factors[factors.size() / 2];
  if (!is_near(factor, 1)) {
    auto fitting = std::vector<std::string>{};
    for (auto const& reading : readings(record))
      if (is_near(factor, reading.factor)) fitting.push_back(reading.text);
    found.push_back(
        fmt::format("has sizes and times that give {:.4g} times its algbw: {}; expected bytes, us and GB/s", factor,
                    fitting.empty() ? "no usual unit explains it" : fmt::format("{}", fmt::join(fitting, ", or "))));
    return;
  }
  for (auto const& point : record.points) {
    if (!has_digits(point)) continue;
    if (is_near(rate_of(point) / *point.algorithm_bandwidth, 1)) continue;
    found.push_back(
        fmt::format("says {} in {:.5g} us, which is {:.4g} GB/s, but algbw {:.4g} GB/s: correct that row, or "
                    "leave it out",
                    size_text(point.size), point.time.count() * 1e6, gigabytes(rate_of(point)),
                    gigabytes(*point.algorithm_bandwidth)));
    return;
  }
}

void check_links(CollectiveRecord const& record, hardware::Cluster const& machine, std::vector<std::string>& found) {
  auto const best = best_bus_bandwidth(record, 64_MiB);
  if (!best || record.ranks < 2) return;
  constexpr double kMeasuringError = 1.02;
  constexpr double kFarBelow = 1.0 / 3;
  auto const lanes = lanes_of(record, machine);
  auto const links = lanes.link < lanes.to_others ? "the GPUs' links" : "the node's NICs";
  auto const most = most_possible(record, machine, lanes);
  auto const expected = usual(record, machine, lanes);
  if (*best > most * kMeasuringError)
    found.push_back(
        fmt::format("reaches {:.4g} GB/s of bus bandwidth, but the links of {} carry {:.4g} at most: check "
                    "the machine, the number of ranks and the units",
                    gigabytes(*best), machine.name, gigabytes(most)));
  else if (*best < expected * kFarBelow)
    found.push_back(
        fmt::format("reaches {:.4g} GB/s of bus bandwidth, {:.0f} % of the {:.4g} of {} of {}: look for "
                    "links or NICs that are not used, and for GPUDirect",
                    gigabytes(*best), *best / expected * 100, gigabytes(expected), links, machine.name));
}

}  // namespace twinstep::validate
