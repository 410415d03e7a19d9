#include <algorithm>
#include <random>

#include "sim/base/input_error.hpp"
#include "sim/collectives/algorithms.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/execution.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using topology::Topology;

namespace {

/// Splits as a mixture of experts has them: some pairs exchange nothing, some much.
std::vector<std::int64_t> routed(std::int64_t ranks, unsigned seed) {
  auto random = std::mt19937{seed};
  auto counts = std::vector<std::int64_t>(static_cast<std::size_t>(ranks * ranks));
  for (auto& count : counts) count = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 7);
  return counts;
}

/// Everyone sends `count` to everyone, itself included.
std::vector<std::int64_t> even(std::int64_t ranks, std::int64_t count) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(ranks * ranks), count);
}

/// An uneven all_to_all in bytes on all GPUs of `machine`, folded.
struct Exchange {
  hardware::Cluster cluster;
  Topology topology;
  Folded folded;

  Exchange(hardware::Cluster machine, Splits splits, Bytes size)
      : cluster{std::move(machine)}, topology{cluster}, folded{fold(splits, size)} {}

  [[nodiscard]] Folded fold(Splits splits, Bytes size) const {
    auto const layout = Layout{cluster.gpus(), {{cluster.nodes(), cluster.node().gpus}}, 0, 1, 0, 1, 1};
    auto const placement = Placement{layout, cluster, topology};
    auto request = FoldRequest{CollectiveKind::kAllToAll, size, placement, cluster, topology};
    request.algorithm = Algorithm::kPairwise;
    request.splits = splits;
    return fold_as(request);
  }
  [[nodiscard]] Bytes load(std::string const& name) const {
    for (auto const& load : folded.phases[0].loads)
      if (topology.resource(load.resource).name == name) return load.bytes;
    return {};
  }
};

hardware::Cluster lossless_nodes(std::int64_t nodes) {
  auto cluster = tests::h100_like(nodes);
  cluster.fabric.transport.efficiency.value = 1;
  cluster.node().link.peer_efficiency.value = 1;
  return cluster;
}

}  // namespace

TEST_CASE("an uneven all_to_all gives every rank what the others' splits mean for it", "[schedule][property]") {
  for (auto ranks = std::int64_t{1}; ranks <= 17; ++ranks)
    for (auto const per_node : {std::int64_t{1}, std::int64_t{2}, ranks}) {
      auto const counts = routed(ranks, static_cast<unsigned>(ranks));
      auto const splits = Splits{ranks, counts};
      // Element k of what `from` has for `to` is 10,000 from + 100 to + k.
      auto sent = RankBuffers<double>(static_cast<std::size_t>(ranks));
      auto expected = sent;
      auto total = std::int64_t{0};
      for (auto from = std::int64_t{0}; from < ranks; ++from)
        for (auto to = std::int64_t{0}; to < ranks; ++to)
          for (auto k = std::int64_t{0}; k < splits.count(from, to); ++k) {
            auto const element = static_cast<double>(10'000 * from + 100 * to + k);
            sent[static_cast<std::size_t>(from)].push_back(element);
            expected[static_cast<std::size_t>(to)].push_back(element);
            total += from != to ? 1 : 0;
          }
      INFO(ranks << " ranks, " << per_node << " on a node");
      auto const schedule = uneven_all_to_all(splits, per_node);
      CHECK(run_collective(schedule, program::Reduction::kSum, sent) == expected);

      auto execution = Execution<double>{schedule, program::Reduction::kSum, sent};
      execution.run();
      auto left = std::int64_t{0};
      auto arrived = std::int64_t{0};
      for (auto rank = std::int64_t{0}; rank < ranks; ++rank) {
        left += execution.sent_elements(rank);
        arrived += execution.received_elements(rank);
      }
      CHECK(left == total);
      CHECK(arrived == total);
    }
}

TEST_CASE("an empty split sends no message, and receivers know how many come", "[schedule]") {
  auto const counts = routed(16, 7);
  auto const schedule = uneven_all_to_all(Splits{16, counts}, 8);
  auto messages = std::int64_t{0};
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step) {
    auto arrivals = std::vector<std::int64_t>(16);
    for (auto rank = std::int64_t{0}; rank < 16; ++rank)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
        if (auto const message = schedule.message(rank, step, lane)) ++arrivals[static_cast<std::size_t>(message->to)];
    for (auto rank = std::int64_t{0}; rank < 16; ++rank) {
      messages += arrivals[static_cast<std::size_t>(rank)];
      CHECK(schedule.arrivals(schedule, rank, step) == arrivals[static_cast<std::size_t>(rank)]);
    }
  }
  auto pairs = std::int64_t{0};
  for (auto from = std::int64_t{0}; from < 16; ++from)
    for (auto to = std::int64_t{0}; to < 16; ++to) pairs += from != to && schedule.splits.count(from, to) > 0 ? 1 : 0;
  CHECK(messages == pairs);
}

TEST_CASE("equal splits cost what an even all_to_all costs", "[folded]") {
  for (auto const nodes : {1, 2, 5})
    for (auto const is_rail_optimised : {false, true}) {
      auto cluster = tests::h100_like(nodes);
      cluster.fabric.is_rail_optimised = is_rail_optimised;
      cluster.fabric.levels[0].nodes = 2;
      cluster.fabric.levels[1].nodes = 6;
      auto const ranks = cluster.gpus();
      auto const counts = even(ranks, 1'000'000);
      auto const exchange = Exchange{cluster, Splits{ranks, counts}, Bytes{1'000'000 * ranks}};
      auto const plain = exchange.fold({}, Bytes{1'000'000 * ranks});
      CHECK(exchange.folded.phases == plain.phases);
      CHECK(exchange.folded.intra == plain.intra);
      CHECK(exchange.folded.inter == plain.inter);
    }
}

TEST_CASE("the busiest port and NIC decide what an uneven all_to_all costs", "[folded]") {
  // 16 ranks on two nodes all send 1 MB to rank 15, the last of the second node: 8 MB through its NIC, 7 MB through its
  // port. No rank sends more than 1 MB.
  auto counts = even(16, 0);
  for (auto from = std::size_t{0}; from < 16; ++from) counts[from * 16 + 15] = 1'000'000;
  auto const splits = Splits{16, counts};
  CHECK(splits.largest() == 16'000'000);
  auto const exchange = Exchange{lossless_nodes(2), splits, Bytes{splits.largest()}};
  CHECK(exchange.load("nic7.in") == 8_MB);
  CHECK(exchange.load("nic7.out") == 1_MB);
  CHECK(exchange.load("gpu7.nvlink.in") == 7_MB);
  CHECK(exchange.load("gpu0.nvlink.out") == 1_MB);
  // Seven of the eight change rails on their way, so they reach the last rail's leaf from the spine.
  CHECK(exchange.load("leaf.down") == 7_MB);
  CHECK(exchange.folded.intra == 7_MB);
  CHECK(exchange.folded.inter == 8_MB);
}

TEST_CASE("splits that do not fit the ranks are refused with what is missing", "[schedule]") {
  auto const three = std::vector<std::int64_t>{1, 2, 3};
  CHECK_THROWS_WITH(Splits(2, three),
                    "splits: 3 counts for an all_to_all of 2 ranks; give 4, one for each pair of "
                    "ranks, row by row in the order of senders");
  auto const negative = std::vector<std::int64_t>{1, 2, -3, 4};
  CHECK_THROWS_WITH(Splits(2, negative), "splits: rank 1 sends -3 to rank 0; give 0 or more");
  CHECK_THROWS_AS(Splits(2, negative), InputError);
}
