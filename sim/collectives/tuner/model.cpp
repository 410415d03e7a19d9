#include "sim/collectives/tuner/model.hpp"

#include <algorithm>
#include <limits>

#include "sim/collectives/costs.hpp"
#include "sim/collectives/schedule.hpp"

namespace twinstep::collectives::tuner {
namespace {

using hardware::Algorithm;
using hardware::Architecture;
using hardware::NvlsModel;
using hardware::Protocol;

// The ratios of the model that no version has changed (ncclTopoTuneModel).
constexpr double kRingLl128Share = 0.92;
constexpr double kTreeShare = 0.92;
constexpr double kTreeLlDivisor = 3.8;
constexpr double kTreeLl128ShareInside = 7.0 / 9.0;
constexpr double kTreeLl128ShareOutside = 120.0 / 128.0;
constexpr double kTreeOnOneGpuShare = 0.85;
constexpr double kPatShare = 0.75;
constexpr double kCollNetOnHopperShare = 0.85;
constexpr double kNetShareOfGathers = 0.9;
constexpr double kNvlsRatio = 5.0 / 6.0;
constexpr double kPlateau = 1.4;  ///< latency of a large ring between nodes
constexpr double kPlateauOfVolta = 1.9;
constexpr double kCollNetArity = 0.4e-6;  ///< seconds for each further rank of a node
constexpr double kPatShareOfStep = 1 / 3.5;
constexpr double kPatPerRank = 2.8e-6;

double seconds(Duration duration) {
  return to_seconds(duration).count();
}
double real(std::int64_t value) {
  return static_cast<double>(value);
}

/// One collective with one algorithm and protocol: the terms of the model by their names there.
class Model {
 public:
  Model(TunerRequest const& request, Algorithm algorithm, Protocol protocol)
      : request_{request},
        graph_{request.graph},
        tuning_{request.cluster.library.tuning},
        algorithm_{algorithm},
        protocol_{protocol},
        architecture_{request.cluster.node().gpu.architecture()},
        ranks_{real(graph_.ranks)},
        per_node_{ranks_ / real(graph_.nodes)} {}

  [[nodiscard]] double latency() const;
  [[nodiscard]] double bandwidth() const;

 private:
  [[nodiscard]] bool is(Algorithm algorithm) const { return algorithm_ == algorithm; }
  [[nodiscard]] bool is(Protocol protocol) const { return protocol_ == protocol; }
  [[nodiscard]] bool reduces_all() const { return request_.kind == CollectiveKind::kAllReduce; }
  [[nodiscard]] bool gathers() const {
    return request_.kind == CollectiveKind::kAllGather || request_.kind == CollectiveKind::kReduceScatter;
  }
  /// The reductions that LL's share is told apart by.
  [[nodiscard]] bool is_reducing() const { return reduces_all() || request_.kind == CollectiveKind::kReduce; }
  [[nodiscard]] double steps() const { return reduces_all() ? 2 * (ranks_ - 1) : gathers() ? ranks_ - 1 : ranks_; }

  [[nodiscard]] Channels const& channels() const;
  [[nodiscard]] double of(hardware::ByArchitecture<hardware::ByNodes<BytesPerSecond>> const& table) const {
    return table[static_cast<std::size_t>(architecture_)][column()].count();
  }
  [[nodiscard]] double of(hardware::ByAlgorithm<Duration> const& table, Algorithm algorithm) const {
    return seconds(table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol_)]);
  }
  [[nodiscard]] std::size_t column() const {
    return static_cast<std::size_t>(std::min<std::int64_t>(graph_.nodes, 3) - 1);
  }

  [[nodiscard]] double ll_limit() const;
  [[nodiscard]] double nvls_bandwidth() const;
  [[nodiscard]] double ring_bus_bandwidth(double bus) const;
  [[nodiscard]] double tree_bus_bandwidth(double bus) const;
  [[nodiscard]] double collnet_bus_bandwidth(double bus) const;
  [[nodiscard]] double algorithm_share() const;
  [[nodiscard]] double tree_correction() const;

  [[nodiscard]] double inside() const {
    return of(graph_.is_nvlink ? tuning_.nvlink_latency : tuning_.pcie_latency, algorithm_);
  }
  [[nodiscard]] double outside() const;
  [[nodiscard]] double ring_latency() const;

  TunerRequest const& request_;
  Graph const& graph_;
  hardware::Tuning const& tuning_;
  Algorithm algorithm_;
  Protocol protocol_;
  Architecture architecture_;
  double ranks_;
  double per_node_;
};

/// Of the graph that the algorithm has. CollNet's, which needs a network that reduces, is taken to be the ring's.
Channels const& Model::channels() const {
  switch (algorithm_) {
    case Algorithm::kTree: return graph_.tree;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree: return graph_.nvls;
    default: return graph_.ring;
  }
}

/// Of one node by the GPU, of several by the host's CPU.
double Model::ll_limit() const {
  auto const cpu =
      request_.cluster.node().host.cpu == hardware::CpuVendor::kAmd ? Architecture::kAmpere : Architecture::kVolta;
  auto const row = graph_.nodes == 1 ? architecture_ : cpu;
  return tuning_.ll_limit[static_cast<std::size_t>(row)][column()].count();
}

/// Of one channel.
double Model::nvls_bandwidth() const {
  auto const count = real(graph_.nvls.count);
  auto const within = graph_.nvls.within_nodes.count();
  auto const between = graph_.nvls.between_nodes.count();
  auto const share_of_others = (per_node_ - 1) / per_node_;
  if (tuning_.nvls_model == NvlsModel::kEfficiency) {
    if (count < 2) return 0;
    auto const inside = within * tuning_.nvls_efficiency[static_cast<std::size_t>(architecture_)] * (count - 1) /
                        count * (reduces_all() ? 2 : share_of_others);
    auto const outside = between * (graph_.nodes <= 2 && is(Algorithm::kNvlsTree) ? 2 : 1);
    auto const limit =
        is(Algorithm::kNvlsTree) ? of(tuning_.nvls_tree_per_channel) : std::numeric_limits<double>::infinity();
    return std::min({inside, outside, limit});
  }
  if (is(Algorithm::kNvlsTree)) return std::min(within, graph_.nodes <= 2 ? between : between / 2);
  if (gathers() && tuning_.nvls_model == NvlsModel::kRatioOfReductions)
    return std::min(within * share_of_others, between * kNetShareOfGathers);
  return std::min(within, between);
}

double Model::ring_bus_bandwidth(double bus) const {
  auto const count = real(graph_.ring.count);
  switch (protocol_) {
    case Protocol::kLl: {
      auto const share =
          graph_.nodes > 1 || is_reducing() ? tuning_.ring_ll_share_reducing : tuning_.ring_ll_share_copying;
      return std::min(ll_limit(), bus * share);
    }
    case Protocol::kLl128: {
      auto const share = per_node_ < 2 ? tuning_.lone_rank_ring_ll128_share : kRingLl128Share;
      return std::min(bus * share, count * of(tuning_.ring_ll128_per_channel));
    }
    case Protocol::kSimple: break;
  }
  return bus;
}

double Model::tree_bus_bandwidth(double bus) const {
  auto const count = real(graph_.tree.count);
  bus = std::min(bus * kTreeShare, count * of(tuning_.tree_per_channel));
  if (is(Protocol::kLl)) bus = std::min(bus / kTreeLlDivisor, ll_limit());
  if (is(Protocol::kLl128))
    bus = std::min(bus * (graph_.nodes == 1 ? kTreeLl128ShareInside : kTreeLl128ShareOutside),
                   count * of(tuning_.tree_ll128_per_channel));
  return graph_.ranks_per_node == 1 ? bus * kTreeOnOneGpuShare : bus;
}

double Model::collnet_bus_bandwidth(double bus) const {
  if (is(Algorithm::kCollNetChain)) return bus;
  if (gathers())
    return per_node_ *
           std::min(graph_.ring.within_nodes.count(), graph_.ring.between_nodes.count() * kNetShareOfGathers);
  auto const gpus_per_nic = per_node_ / real(graph_.ring.count);
  bus /= gpus_per_nic - (gpus_per_nic - 1) / 2;
  return architecture_ >= Architecture::kHopper ? bus * kCollNetOnHopperShare : bus;
}

/// From bus bandwidth to algorithm bandwidth.
double Model::algorithm_share() const {
  if (is(Algorithm::kRing)) return ranks_ / steps();
  auto const is_nvls = is(Algorithm::kNvls) || is(Algorithm::kNvlsTree);
  if (gathers()) return is_nvls && tuning_.nvls_model == NvlsModel::kOneRatio ? kNvlsRatio : 1;
  if (!is_nvls) return 0.5;
  return tuning_.nvls_model == NvlsModel::kEfficiency ? ranks_ / steps() : kNvlsRatio;
}

double Model::tree_correction() const {
  constexpr auto kLines = std::int64_t{64};
  constexpr auto kTreeSizes = std::int64_t{23};
  if (!reduces_all() || request_.size.count() < kLines) return 1;
  auto const size = floor_log2(request_.size.count() / kLines);
  auto const& table = tuning_.tree_correction[static_cast<std::size_t>(protocol_)];
  auto const corrects_nvls_tree = tuning_.corrects_nvls_tree && architecture_ == Architecture::kBlackwell &&
                                  request_.cluster.node().host.cpu != hardware::CpuVendor::kOther;
  auto const holds = is(Algorithm::kTree)       ? size < kTreeSizes
                     : is(Algorithm::kNvlsTree) ? corrects_nvls_tree && size < std::ssize(table)
                                                : false;
  return holds ? table[static_cast<std::size_t>(size)] : 1;
}

double Model::bandwidth() const {
  auto const is_collnet = is(Algorithm::kCollNetDirect) || is(Algorithm::kCollNetChain);
  auto const& found = channels();
  auto bus = real(found.count) * (graph_.nodes <= 2 || is_collnet ? found.within_nodes : found.between_nodes).count();
  switch (algorithm_) {
    case Algorithm::kRing: bus = ring_bus_bandwidth(bus); break;
    case Algorithm::kTree: bus = tree_bus_bandwidth(bus); break;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree: bus = real(found.count) * nvls_bandwidth(); break;
    case Algorithm::kPat: bus *= kPatShare; break;
    default: bus = collnet_bus_bandwidth(bus); break;
  }
  return bus * algorithm_share() * tree_correction();
}

/// A step between nodes. With one rank a node nothing hides it, and the tree's is taken; Simple also flushes.
double Model::outside() const {
  auto const lone = graph_.nodes == graph_.ranks && tuning_.lone_rank_has_tree_latency;
  auto const own = of(tuning_.network_latency, lone ? Algorithm::kTree : algorithm_);
  return own + seconds(graph_.network_latency) * (is(Protocol::kSimple) ? 2 : 1);
}

double Model::ring_latency() const {
  auto const nodes = real(graph_.nodes);
  if (!reduces_all() && !gathers()) {
    // Broadcast and reduce are pipelines. Rings of different orders pay every hop, and Simple's is a tree's chunk.
    auto const& table = graph_.nodes > 1   ? tuning_.network_latency
                        : graph_.is_nvlink ? tuning_.nvlink_latency
                                           : tuning_.pcie_latency;
    if (graph_.rings_are_alike) return of(table, Algorithm::kRing);
    return steps() * of(table, is(Protocol::kSimple) ? Algorithm::kTree : Algorithm::kRing);
  }
  if (graph_.nodes == 1) return steps() * inside();
  auto const crossings = !reduces_all()                          ? nodes - 1
                         : tuning_.ring_crosses_every_node_twice ? 2 * nodes
                                                                 : 2 * (nodes - 1);
  return (steps() - crossings) * std::max(inside(), seconds(network_overhead(request_.cluster, protocol_))) +
         crossings * outside();
}

double Model::latency() const {
  auto const base = of(tuning_.base_latency, algorithm_);
  auto const depth = real(floor_log2(graph_.nodes));
  auto const others = real(graph_.ranks / graph_.nodes - 1);
  switch (algorithm_) {
    case Algorithm::kRing: {
      auto const latency = base + ring_latency();
      auto const is_on_plateau = reduces_all() && is(Protocol::kSimple) && graph_.nodes > 1 &&
                                 request_.size.count() / (graph_.channels * graph_.ranks) >= 64;
      if (!is_on_plateau) return latency;
      return latency * (architecture_ == Architecture::kVolta ? kPlateauOfVolta : kPlateau);
    }
    case Algorithm::kTree: return base + 2 * (others * inside() + depth * outside());
    case Algorithm::kCollNetDirect:
      return base + 2 * (std::min(1.0, others) * inside() + others * kCollNetArity) + outside();
    case Algorithm::kCollNetChain: return base + 2 * others * inside() + outside();
    case Algorithm::kNvls: return inside() + (graph_.nodes > 1 ? outside() : 0);
    case Algorithm::kNvlsTree: return base + inside() + 2 * depth * outside();
    default: return base + depth * outside() * kPatShareOfStep + ranks_ * kPatPerRank;
  }
}

}  // namespace

Prediction predict(TunerRequest const& request, Algorithm algorithm, Protocol protocol) {
  auto const model = Model{request, algorithm, protocol};
  return {model.latency(), model.bandwidth()};
}

}  // namespace twinstep::collectives::tuner
