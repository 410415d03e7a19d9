#include <algorithm>
#include <set>

#include "sim/base/units.hpp"
#include "sim/collectives/dispatch.hpp"
#include "sim/collectives/pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/collective_kinds.hpp"
#include "tests/support/execution.hpp"

using namespace twinstep;
using namespace twinstep::collectives;
using program::Reduction;
using tests::kCollectiveKinds;
using Buffers = RankBuffers<double>;

namespace {

/// The same schedule, whole and cut into pieces where its steps are stages.
std::vector<Schedule> cuts_of(Schedule const& whole, Algorithm algorithm) {
  auto cuts = std::vector<Schedule>{whole};
  auto const is_pipeline = algorithm == Algorithm::kTree || algorithm == Algorithm::kNvls ||
                           algorithm == Algorithm::kNvlsTree || algorithm == Algorithm::kCollNetDirect ||
                           algorithm == Algorithm::kCollNetChain;
  if (is_pipeline)
    for (auto const pieces : {2, 5}) cuts.push_back(pipelined(whole, pieces));
  return cuts;
}

/// Elements to try a schedule on: none, one, some for every rank, and so many that the last chunk is short. Where
/// chunks are more than any of these, or a whole schedule was tried on them before, one size says all.
std::set<std::int64_t> sizes_for(Schedule const& schedule) {
  constexpr auto kMany = std::int64_t{61};
  if (schedule.pieces > 1 || schedule.chunks > kMany) return {kMany};
  return {0, 1, 3 * schedule.ranks + 2, kMany};
}

/// Ranks that share a node: one, some that fill nodes or do not, all.
std::set<std::int64_t> spreads_of(std::int64_t ranks) {
  return {1, std::min<std::int64_t>(3, ranks), std::min<std::int64_t>(4, ranks), ranks};
}

std::set<std::int64_t> roots_of(CollectiveKind kind, std::int64_t ranks) {
  auto const is_rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ||
                         kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
  return is_rooted ? std::set{std::int64_t{0}, ranks / 2, ranks - 1} : std::set{std::int64_t{0}};
}

/// What rank `rank` holds at `element` of a whole buffer: a small integer, so that sums are exact in any order.
double held(std::int64_t rank, std::int64_t element) {
  return static_cast<double>((rank * 131 + element * 17 + 5) % 251);
}

std::vector<double> whole(std::int64_t rank, std::int64_t first, std::int64_t last) {
  auto out = std::vector<double>{};
  for (auto element = first; element < last; ++element) out.push_back(held(rank, element));
  return out;
}

/// A collective of `ranks` on `size` elements, straight from its definition.
struct Definition {
  CollectiveKind kind{};
  std::int64_t ranks = 1;
  std::int64_t root = 0;
  std::int64_t size = 0;

  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const { return chunk_begin(size, ranks, chunk); }

  [[nodiscard]] Buffers sent() const {
    auto out = Buffers{};
    for (auto rank = std::int64_t{0}; rank < ranks; ++rank) {
      auto const is_part = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
      out.push_back(is_part ? whole(rank, begin(rank), begin(rank + 1)) : whole(rank, 0, size));
    }
    return out;
  }

  [[nodiscard]] std::vector<double> sum(std::int64_t first, std::int64_t last) const {
    auto out = std::vector<double>(static_cast<std::size_t>(last - first));
    for (auto rank = std::int64_t{0}; rank < ranks; ++rank)
      for (auto i = first; i < last; ++i) out[static_cast<std::size_t>(i - first)] += held(rank, i);
    return out;
  }

  [[nodiscard]] std::vector<double> gathered() const {
    auto out = std::vector<double>{};
    for (auto rank = std::int64_t{0}; rank < ranks; ++rank)
      for (auto i = begin(rank); i < begin(rank + 1); ++i) out.push_back(held(rank, i));
    return out;
  }

  [[nodiscard]] std::vector<double> received(std::int64_t rank) const {
    switch (kind) {
      case CollectiveKind::kAllReduce: return sum(0, size);
      case CollectiveKind::kReduceScatter: return sum(begin(rank), begin(rank + 1));
      case CollectiveKind::kAllGather: return gathered();
      case CollectiveKind::kBroadcast: return whole(root, 0, size);
      case CollectiveKind::kReduce: return rank == root ? sum(0, size) : std::vector<double>{};
      case CollectiveKind::kGather: return rank == root ? gathered() : std::vector<double>{};
      case CollectiveKind::kScatter: return whole(root, begin(rank), begin(rank + 1));
      case CollectiveKind::kAllToAll: {
        auto out = std::vector<double>{};
        for (auto from = std::int64_t{0}; from < ranks; ++from)
          for (auto i = begin(rank); i < begin(rank + 1); ++i) out.push_back(held(from, i));
        return out;
      }
    }
    return {};
  }
};

}  // namespace

namespace {

/// Every rank ends up with what the collective is defined to give it.
void check(Schedule const& schedule, Definition const& definition) {
  auto const received = run_collective(schedule, Reduction::kSum, definition.sent());
  auto right = std::int64_t{0};
  for (auto rank = std::int64_t{0}; rank < definition.ranks; ++rank)
    right += received[static_cast<std::size_t>(rank)] == definition.received(rank) ? 1 : 0;
  CHECK(right == definition.ranks);
}

/// Calls `visit(schedule)` for every algorithm that does `kind`, in every way to spread `ranks` over nodes and to cut
/// the buffer into pieces.
template <class Visit>
void for_every_schedule(CollectiveKind kind, std::int64_t ranks, Visit visit) {
  for (auto const& entry : all_algorithms())
    for (auto const per_node : spreads_of(ranks))
      for (auto const root : roots_of(kind, ranks)) {
        if (!entry.does(kind)) continue;
        for (auto const& cut : cuts_of(schedule_of(kind, entry.algorithm, ranks, root, per_node), entry.algorithm)) {
          INFO(name_of(kind) << " by " << name_of(entry.algorithm) << ", " << ranks << " ranks, " << per_node
                             << " on a node, root " << root << ", " << cut.pieces << " pieces");
          visit(cut);
        }
      }
}

}  // namespace

TEST_CASE("every algorithm does every collective as defined, however many ranks, nodes, elements and pieces",
          "[schedule][property]") {
  for (auto const kind : kCollectiveKinds)
    for (auto ranks = std::int64_t{1}; ranks <= 17; ++ranks)
      for_every_schedule(kind, ranks, [&](Schedule const& schedule) {
        for (auto const size : sizes_for(schedule)) {
          INFO(size << " elements");
          check(schedule, Definition{kind, ranks, schedule.root, size});
        }
      });
}

TEST_CASE("the trees between nodes are right for many nodes", "[schedule][property]") {
  for (auto const algorithm : {Algorithm::kTree, Algorithm::kNvlsTree})
    for (auto ranks = std::int64_t{18}; ranks <= 40; ++ranks)
      for (auto const per_node : {1, 2, 3, 8}) {
        INFO(name_of(algorithm) << ", " << ranks << " ranks, " << per_node << " on a node");
        check(schedule_of(CollectiveKind::kAllReduce, algorithm, ranks, 0, per_node),
              Definition{CollectiveKind::kAllReduce, ranks, 0, 7});
      }
}

TEST_CASE("a switch of more ranks than it has heads reduces for all of them", "[schedule][property]") {
  check(schedule_of(CollectiveKind::kAllReduce, Algorithm::kNvls, 40),
        Definition{CollectiveKind::kAllReduce, 40, 0, 133});
}

TEST_CASE("switches take the largest and the smallest, and average", "[schedule][property]") {
  auto const sent = Buffers{{-3, 7}, {-5, 2}, {-4, 9}};
  for (auto const algorithm : {Algorithm::kNvls, Algorithm::kNvlsTree}) {
    auto const received = [&](Reduction reduction) {
      return run_collective(pipelined(schedule_of(CollectiveKind::kAllReduce, algorithm, 3, 0, 2), 2), reduction, sent);
    };
    CHECK(received(Reduction::kMax) == Buffers(3, {-3, 9}));
    CHECK(received(Reduction::kMin) == Buffers(3, {-5, 2}));
    CHECK(received(Reduction::kAverage) == Buffers(3, {-4, 6}));
  }
}

TEST_CASE("all_reduce is reduce_scatter and then all_gather, element for element", "[schedule][property]") {
  for (auto ranks = std::int64_t{1}; ranks <= 9; ++ranks)
    for (auto size = std::int64_t{1}; size <= 20; ++size) {
      auto const sent = Definition{CollectiveKind::kAllReduce, ranks, 0, size}.sent();
      auto const ring = [&](CollectiveKind kind, Buffers const& buffers) {
        return run_collective(schedule_of(kind, Algorithm::kRing, ranks), Reduction::kSum, buffers);
      };
      CHECK(ring(CollectiveKind::kAllGather, ring(CollectiveKind::kReduceScatter, sent)) ==
            ring(CollectiveKind::kAllReduce, sent));
    }
}

TEST_CASE("a message goes to somebody else and names chunks that exist", "[schedule][property]") {
  for (auto const kind : kCollectiveKinds)
    for (auto ranks = std::int64_t{1}; ranks <= 17; ++ranks)
      for_every_schedule(kind, ranks, [&](Schedule const& schedule) {
        auto const participants = ranks + schedule.agents;
        auto wrong = std::int64_t{0};
        for (auto step = std::int64_t{0}; step < schedule.steps; ++step)
          for (auto from = std::int64_t{0}; from < participants; ++from)
            for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
              if (auto const message = schedule.message(from, step, lane)) {
                auto const is_elsewhere = message->to >= 0 && message->to < participants && message->to != from;
                auto const last = message->first_chunk + message->chunk_count;
                auto const is_some = message->chunk_count > 0 && message->first_chunk >= 0 && last <= schedule.chunks;
                wrong += is_elsewhere && is_some ? 0 : 1;
              }
        CHECK(wrong == 0);
      });
}

TEST_CASE("a ring sends 2(p - 1)/p of the buffer to all_reduce and (p - 1)/p to gather or scatter",
          "[schedule][property]") {
  for (auto ranks = std::int64_t{2}; ranks <= 17; ++ranks) {
    auto const sent = [&](CollectiveKind kind, std::int64_t rank) {
      auto const count = static_cast<std::size_t>(ranks);
      auto execution = Execution<float>{schedule_of(kind, Algorithm::kRing, ranks), Reduction::kSum,
                                        RankBuffers<float>(count, std::vector<float>(count * 5))};
      execution.run();
      return execution.sent_elements(rank);
    };
    for (auto rank = std::int64_t{0}; rank < ranks; ++rank) {
      CHECK(sent(CollectiveKind::kAllReduce, rank) == 2 * (ranks - 1) * 5);
      CHECK(sent(CollectiveKind::kAllGather, rank) == (ranks - 1) * 5);
      CHECK(sent(CollectiveKind::kReduceScatter, rank) == (ranks - 1) * 5);
    }
  }
}

TEST_CASE("a schedule of 131,072 ranks is computed, not stored", "[schedule][property]") {
  auto const ring = schedule_of(CollectiveKind::kAllReduce, Algorithm::kRing, 131'072);
  CHECK(*ring.message(131'071, 5, 0) == Message{0, 131'066, 1, true});
  auto const tree = schedule_of(CollectiveKind::kAllReduce, Algorithm::kTree, 131'072, 0, 8);
  CHECK(*tree.message(8, 7, 0) == Message{16, 0, 1, true});  // node 1 is a leaf below node 2
}
