#include "sim/base/units.hpp"
#include "sim/collectives/execute.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::collectives;
using program::CollectiveKind;
using program::Reduction;
using Buffers = RankBuffers<double>;

namespace {

constexpr auto kKinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                         CollectiveKind::kBroadcast, CollectiveKind::kReduce,    CollectiveKind::kGather,
                         CollectiveKind::kScatter,   CollectiveKind::kAllToAll};
constexpr auto kAlgorithms = {Algorithm::kRing, Algorithm::kTree, Algorithm::kDirect};

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

TEST_CASE("every algorithm does every collective as defined, at any number of ranks and any size",
          "[schedule][property]") {
  for (auto const kind : kKinds)
    for (auto const algorithm : kAlgorithms) {
      if (!is_available(kind, algorithm)) continue;
      for (auto ranks = std::int64_t{1}; ranks <= 17; ++ranks)
        for (auto const size : {std::int64_t{0}, std::int64_t{1}, ranks, 3 * ranks + 2, std::int64_t{61}})
          for (auto const root : {std::int64_t{0}, ranks / 2, ranks - 1}) {
            auto const definition = Definition{kind, ranks, root, size};
            auto const received =
                run_collective(schedule_of(kind, algorithm, ranks, root), Reduction::kSum, definition.sent());
            INFO(name_of(kind) << " by " << name_of(algorithm) << ", " << ranks << " ranks, " << size
                               << " elements, root " << root);
            auto right = std::int64_t{0};
            for (auto rank = std::int64_t{0}; rank < ranks; ++rank)
              right += received[static_cast<std::size_t>(rank)] == definition.received(rank) ? 1 : 0;
            CHECK(right == ranks);
          }
    }
}

TEST_CASE("the all_reduce tree is right for every way to spread ranks over nodes", "[schedule][property]") {
  for (auto ranks = std::int64_t{1}; ranks <= 40; ++ranks)
    for (auto const per_node : {1, 2, 3, 4, 8}) {
      auto const definition = Definition{CollectiveKind::kAllReduce, ranks, 0, 7};
      auto const tree = schedule_of(CollectiveKind::kAllReduce, Algorithm::kTree, ranks, 0, per_node);
      INFO(ranks << " ranks, " << per_node << " on a node");
      CHECK(run_collective(tree, Reduction::kSum, definition.sent()) ==
            Buffers(static_cast<std::size_t>(ranks), definition.received(0)));
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

TEST_CASE("what is sent is received", "[schedule][property]") {
  for (auto const kind : kKinds)
    for (auto const algorithm : kAlgorithms)
      for (auto ranks = std::int64_t{1}; is_available(kind, algorithm) && ranks <= 17; ++ranks) {
        auto execution = Execution<float>{schedule_of(kind, algorithm, ranks, ranks / 3), Reduction::kSum,
                                          RankBuffers<float>(static_cast<std::size_t>(ranks), std::vector<float>(37))};
        execution.run();
        auto balance = std::int64_t{0};
        for (auto rank = std::int64_t{0}; rank < ranks; ++rank)
          balance += execution.sent_elements(rank) - execution.received_elements(rank);
        CHECK(balance == 0);
      }
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
