#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "sim/engine/transfers.hpp"

namespace twinstep::engine {
namespace {

using program::CellId;

/// Deals whole bytes out by weight; all of them have been dealt when all of the weight has.
class Dealer {
 public:
  Dealer(Bytes total, double weight) : total_{total}, weight_{weight} {}

  Bytes next(double weight) {
    so_far_ += weight;
    auto const part = so_far_ < weight_ ? so_far_ / weight_ : 1;
    auto const until = part < 1 ? Bytes{std::llround(part * static_cast<double>(total_.count()))} : total_;
    return until - std::exchange(dealt_, until);
  }

 private:
  Bytes total_;
  double weight_;
  double so_far_ = 0;  // of the weight
  Bytes dealt_;
};

/// Of bytes inside nodes and between them.
struct Weights {
  double intra = 0;
  double inter = 0;
};

/// A time of even speed, and how much of the transfer's bytes leave in it.
struct Stretch {
  Time begin;
  Time end;
  Weights weights;
};

/// The largest load on a link of each kind. What leaves a node crosses PCIe, which then says nothing of the inside.
Weights busiest_loads(TransferFlow const& flow, topology::Topology const& topology) {
  auto most = Weights{};
  auto most_between_gpus = 0.0;
  for (auto const& load : flow.loads) {
    if (load.resource == topology.hbm()) continue;
    auto const& resource = topology.resource(load.resource);
    auto const bytes = static_cast<double>(load.bytes.count());
    auto& part = resource.is_inter_node ? most.inter : most.intra;
    part = std::max(part, bytes);
    if (resource.is_gpu_link) most_between_gpus = std::max(most_between_gpus, bytes);
  }
  if (most.inter > 0) most.intra = most_between_gpus;
  return most;
}

class TrafficOfStep {
 public:
  TrafficOfStep(Transfers const& transfers, program::Projection const& cells, topology::Topology const& topology,
                std::span<SpeedChange const> changes)
      : transfers_{transfers}, cells_{cells}, topology_{topology}, changes_{changes.begin(), changes.end()} {
    std::ranges::stable_sort(changes_, {}, [](SpeedChange const& one) { return std::pair{one.transfer, one.flow}; });
  }

  std::vector<timeline::Traffic> list() && {
    auto next = changes_.begin();
    for (std::uint32_t t = 0; t < transfers_.size(); ++t) {
      auto const first = next;
      while (next != changes_.end() && next->transfer == t) ++next;
      auto const& transfer = transfers_.at(t);
      if (!transfer.has_started()) continue;
      find_stretches(transfer, {first, next});
      add_senders(transfer);
    }
    std::ranges::stable_sort(out_, {}, [](timeline::Traffic const& one) { return std::pair{one.track, one.begin}; });
    return std::move(out_);
  }

 private:
  /// The changes of a flow stand together.
  void find_stretches(Transfer const& transfer, std::span<SpeedChange const> changes) {
    stretches_.clear();
    auto const flows = transfers_.flows(transfer);
    while (!changes.empty()) {
      auto const flow = changes.front().flow;
      auto const count = static_cast<std::size_t>(std::ranges::count(changes, flow, &SpeedChange::flow));
      auto const is_only = count == changes.size() && stretches_.empty();
      add_flow(changes.first(count), is_only ? Weights{1, 1} : busiest_loads(flows[flow], topology_));
      changes = changes.subspan(count);
    }
    auto const least_end = transfer.start + Duration{1};  // on links so fast that no time passes
    if (stretches_.empty()) stretches_.push_back({transfer.start, std::max(transfer.end, least_end), {1, 1}});
  }

  void add_flow(std::span<SpeedChange const> changes, Weights weights) {
    auto const first = stretches_.size();
    auto amount = 0.0;
    for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
      auto const begin = changes[i].time;
      auto const end = changes[i + 1].time;
      if (begin == end) continue;
      auto const moved = changes[i].speed * to_seconds(end - begin).count();
      stretches_.push_back({begin, end, {moved * weights.intra, moved * weights.inter}});
      amount += moved;
    }
    for (auto i = first; i < stretches_.size(); ++i) {
      stretches_[i].weights.intra /= amount;
      stretches_[i].weights.inter /= amount;
    }
  }

  void add_senders(Transfer const& transfer) {
    auto const& folded = transfers_.folded(transfer);
    auto senders = std::span<CellId const>{transfer.meeting.expected};
    if (transfer.meeting.is_message()) senders = senders.first(1);
    auto ranks = 0.0;
    for (auto const cell : senders) ranks += static_cast<double>(cells_.multiplicity(cell));
    auto intra = Dealer{folded.intra * transfer.groups, ranks};
    auto inter = Dealer{folded.inter * transfer.groups, ranks};
    for (auto const cell : senders) {
      auto const alike = static_cast<double>(cells_.multiplicity(cell));
      add_sender(cell, {intra.next(alike), inter.next(alike)});
    }
  }

  void add_sender(CellId cell, timeline::WireBytes bytes) {
    auto total = Weights{};
    for (auto const& stretch : stretches_) {
      total.intra += stretch.weights.intra;
      total.inter += stretch.weights.inter;
    }
    auto intra = Dealer{bytes.intra, total.intra};
    auto inter = Dealer{bytes.inter, total.inter};
    for (auto const& [begin, end, weights] : stretches_) {
      auto const part = timeline::WireBytes{intra.next(weights.intra), inter.next(weights.inter)};
      if (part != timeline::WireBytes{}) out_.push_back({timeline::TrackId{cell.index()}, begin, end, part});
    }
  }

  Transfers const& transfers_;
  program::Projection const& cells_;
  topology::Topology const& topology_;
  std::vector<SpeedChange> changes_;  // of each transfer together, in the order of time
  std::vector<Stretch> stretches_;    // of one transfer
  std::vector<timeline::Traffic> out_;
};

}  // namespace

std::vector<timeline::Traffic> traffic_of(Transfers const& transfers, program::Projection const& cells,
                                          topology::Topology const& topology, std::span<SpeedChange const> changes) {
  return TrafficOfStep{transfers, cells, topology, changes}.list();
}

}  // namespace twinstep::engine
