#include <algorithm>
#include <string>

#include "sim/collectives/dispatch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using topology::Topology;

namespace {

/// A collective on all GPUs of a machine.
struct Cost {
  hardware::Cluster cluster;
  Topology topology;
  Folded folded;
  Timing timing;

  Cost(hardware::Cluster machine, CollectiveKind kind, Algorithm algorithm, Bytes size)
      : cluster{std::move(machine)}, topology{cluster} {
    auto const layout = Layout{cluster.gpus(), {{cluster.nodes(), cluster.node().gpus}}, 0, 1, 0, 1, 1};
    auto const placement = Placement{layout, cluster, topology};
    auto request = FoldRequest{kind, size, placement, cluster, topology};
    request.algorithm = algorithm;
    folded = fold_as(request);
    timing = algorithm_of(algorithm).timing(request);
  }

  [[nodiscard]] Duration time() const { return time_alone(folded, topology); }
  [[nodiscard]] Bytes load(std::string const& name) const {
    auto total = Bytes{};
    for (auto const& phase : folded.phases)
      for (auto const& load : phase.loads)
        if (topology.resource(load.resource).name == name) total += load.bytes;
    return total;
  }
};

/// Ranks with a port of 1 GB/s each on one switch; a step waits 1 us.
Cost flat(CollectiveKind kind, Algorithm algorithm, std::int64_t ranks, Bytes size) {
  return {tests::flat_cluster(ranks, 1_GBps, 1_us), kind, algorithm, size};
}

hardware::Cluster lossless_nodes(std::int64_t nodes) {
  auto cluster = tests::h100_like(nodes);
  cluster.fabric.transport.efficiency.value = 1;
  cluster.node().link.peer_efficiency.value = 1;
  cluster.node().link.ring_efficiency.value = 1;
  return cluster;
}

/// Message by message: every step waits `alpha`, then as long as its busiest port needs, in or out.
Duration time_by_steps(Schedule const& schedule, Bytes size, BytesPerSecond port, Duration alpha) {
  auto total = Duration{};
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step) {
    auto out = std::vector<std::int64_t>(static_cast<std::size_t>(schedule.ranks));
    auto in = out;
    for (auto rank = std::int64_t{0}; rank < schedule.ranks; ++rank)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
        if (auto const message = schedule.message(rank, step, lane)) {
          auto const bytes = elements_of(schedule, rank, *message, size.count());
          out[static_cast<std::size_t>(rank)] += bytes;
          in[static_cast<std::size_t>(message->to)] += bytes;
        }
    total +=
        alpha + transfer_time(Bytes{std::max(*std::ranges::max_element(out), *std::ranges::max_element(in))}, port);
  }
  return total;
}

}  // namespace

TEST_CASE("these algorithms cost what their messages cost one by one", "[folded][property]") {
  for (auto const algorithm :
       {Algorithm::kPat, Algorithm::kHalvingDoubling, Algorithm::kBinomial, Algorithm::kPairwise, Algorithm::kNaive})
    for (auto const kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                            CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kGather,
                            CollectiveKind::kScatter, CollectiveKind::kAllToAll})
      for (auto ranks = std::int64_t{2}; ranks <= 17; ++ranks) {
        if (!is_available(kind, algorithm)) continue;
        // A multiple of every rank count and of every power of two below: chunks are whole.
        auto const size = Bytes{16 * ranks * 1'000};
        auto const schedule = schedule_of(kind, algorithm, ranks);
        auto const expected = time_by_steps(schedule, size, 7_GBps, 3_us);
        for (auto const& cluster :
             {tests::flat_cluster(ranks, 7_GBps, 3_us), tests::crossbar_node(ranks, 7_GBps, 3_us)}) {
          auto const cost = Cost{cluster, kind, algorithm, size};
          INFO(name_of(kind) << " by " << name_of(algorithm) << " on " << ranks << " ranks: " << expected.count()
                             << " ps one by one, " << cost.time().count() << " ps folded");
          CHECK(expected - cost.time() <= Duration{schedule.steps});
          CHECK(cost.time() - expected <= Duration{schedule.steps});
          auto steps = std::int64_t{0};
          for (auto const& run : cost.timing.steps) steps += run.steps;
          CHECK(steps == schedule.steps);
          CHECK(cost.folded.intra + cost.folded.inter == [&] {
            auto bytes = Bytes{};
            for (auto step = std::int64_t{0}; step < schedule.steps; ++step)
              for (auto rank = std::int64_t{0}; rank < ranks; ++rank)
                for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
                  if (auto const message = schedule.message(rank, step, lane))
                    bytes += Bytes{elements_of(schedule, rank, *message, size.count())};
            return bytes;
          }());
        }
      }
}

TEST_CASE("PAT gathers in log2 n steps and S(n - 1)/n bytes", "[folded][pat]") {
  CHECK(flat(CollectiveKind::kAllGather, Algorithm::kPat, 8, 8_MB).time() == 7_ms + 3_us);
  CHECK(flat(CollectiveKind::kReduceScatter, Algorithm::kPat, 9, 9_MB).time() == 8_ms + 4_us);
  CHECK(flat(CollectiveKind::kAllGather, Algorithm::kPat, 1024, 1024_MB).time() == 1023_ms + 10_us);
}

TEST_CASE("PAT sends one chunk the farthest and half of them to the neighbour", "[schedule][pat]") {
  auto const pat = schedule_of(CollectiveKind::kAllGather, Algorithm::kPat, 8);
  auto const sent = [&](std::int64_t step) {
    auto out = std::vector<Message>{};
    for (auto lane = std::int64_t{0}; lane < pat.lanes; ++lane)
      if (auto const message = pat.message(5, step, lane)) out.push_back(*message);
    return out;
  };
  CHECK(sent(0) == std::vector<Message>{{1, 5}});
  CHECK(sent(1) == std::vector<Message>{{7, 5}, {7, 1}});
  CHECK(sent(2) == std::vector<Message>{{6, 5}, {6, 3}, {6, 1}, {6, 7}});
}

TEST_CASE("PAT sends least where it sends farthest, so uplinks carry little", "[folded][pat]") {
  auto cluster = tests::flat_cluster(8, 1_GBps, 0_us);
  cluster.fabric.levels = {{"leaf", 4, {1.0}, {}}, {"spine", 8, {1.0}, {}}};
  // Distance 4: four ranks of a leaf send one chunk up; distance 2: two of them two chunks; 1: one of them four.
  CHECK(Cost{cluster, CollectiveKind::kAllGather, Algorithm::kPat, 8_MB}.load("leaf.up") == 12_MB);
}

TEST_CASE("halving and doubling take 2 log2 n steps and 2S(n - 1)/n bytes", "[folded][halving-doubling]") {
  CHECK(flat(CollectiveKind::kAllReduce, Algorithm::kHalvingDoubling, 8, 8_MB).time() == 14_ms + 6_us);
  CHECK(flat(CollectiveKind::kReduceScatter, Algorithm::kHalvingDoubling, 8, 8_MB).time() == 7_ms + 3_us);
  CHECK(flat(CollectiveKind::kAllGather, Algorithm::kHalvingDoubling, 1024, 1024_MB).time() == 1023_ms + 10_us);
}

TEST_CASE("a rank beyond a power of two hands its buffer over and is handed the sum", "[folded][halving-doubling]") {
  // Five ranks: 4 MB over, 2 * 4 MB * 3/4 among four, 4 MB back; two steps more than four ranks need.
  CHECK(flat(CollectiveKind::kAllReduce, Algorithm::kHalvingDoubling, 5, 4_MB).time() == 14_ms + 6_us);
}

TEST_CASE("an all_reduce halves inside nodes first, so that little is left for the NICs",
          "[folded][halving-doubling]") {
  // 16 ranks on two nodes: after three halvings an eighth is left, of which half crosses, there and back.
  auto const cost = Cost{lossless_nodes(2), CollectiveKind::kAllReduce, Algorithm::kHalvingDoubling, 16_MB};
  CHECK(cost.load("nic0.out") == 2_MB);
  CHECK(cost.load("gpu0.nvlink.out") == 28_MB);  // 2 (8 + 4 + 2)
  CHECK(cost.folded.inter == 32_MB);             // 16 ranks, twice 1 MB each
  CHECK(cost.folded.intra == 448_MB);
}

TEST_CASE("a binomial gather brings the root S(n - 1)/n bytes in log2 n steps", "[folded][binomial]") {
  CHECK(flat(CollectiveKind::kGather, Algorithm::kBinomial, 13, 13_MB).time() == 12_ms + 4_us);
  CHECK(flat(CollectiveKind::kScatter, Algorithm::kBinomial, 16, 16_MB).time() == 15_ms + 4_us);
  // 1, 2, 4 MB from inside the root's node, then the 8 MB of the other one.
  auto const cost = Cost{lossless_nodes(2), CollectiveKind::kGather, Algorithm::kBinomial, 16_MB};
  CHECK(cost.load("gpu0.nvlink.in") == 7_MB);
  CHECK(cost.load("nic0.in") == 8_MB);
  CHECK(cost.folded.inter == 8_MB);
  CHECK(cost.folded.intra == 24_MB);  // 12 MB in each node
}

TEST_CASE("a binomial broadcast leaves the root log2 n times", "[folded][binomial]") {
  CHECK(flat(CollectiveKind::kBroadcast, Algorithm::kBinomial, 9, 1_MB).time() == 4_ms + 4_us);
  auto const tree = schedule_of(CollectiveKind::kBroadcast, Algorithm::kBinomial, 8, 6);
  CHECK(*tree.message(6, 0, 0) == Message{2, 0, 1, false});  // four places on
  CHECK(*tree.message(2, 1, 0) == Message{4, 0, 1, false});
  CHECK_FALSE(tree.message(4, 1, 0).has_value());
}

TEST_CASE("the naive all_reduce moves 2(n - 1) buffers through the root's link, one after the other",
          "[folded][naive]") {
  CHECK(flat(CollectiveKind::kAllReduce, Algorithm::kNaive, 8, 1_MB).time() == 14_ms + 14_us);
  CHECK(flat(CollectiveKind::kAllReduce, Algorithm::kNaive, 1024, 1_MB).time() == 2046_ms + 2046_us);
  CHECK(flat(CollectiveKind::kAllGather, Algorithm::kNaive, 8, 8_MB).time() == 63_ms + 14_us);  // 7 chunks in, 7 S out
}

TEST_CASE("naive messages take turns even where each has a link of its own", "[folded][naive]") {
  auto cluster = tests::ideal_cluster(1, 4, hardware::IntraNode::kMesh);
  cluster.node().gpu_link.value = 3_GBps;
  // Three links of 1 GB/s, one at a time.
  CHECK(Cost{cluster, CollectiveKind::kBroadcast, Algorithm::kNaive, 1_MB}.time() == 3_ms);
}

TEST_CASE("an all_to_all over eight nodes needs what its NICs need, in the fold and in every step of the schedule",
          "[folded][pairwise]") {
  // Each of 64 ranks sends 56 of its 64 MB to other nodes through a NIC of 50 GB/s: 1.12 ms.
  auto const cost = Cost{lossless_nodes(8), CollectiveKind::kAllToAll, Algorithm::kPairwise, 64_MB};
  CHECK(cost.load("nic0.out") == 56_MB);
  CHECK(cost.load("nic5.in") == 56_MB);
  CHECK(cost.time() >= transfer_time(56_MB, 50_GBps));
  // Every step loads all NICs alike: no rank waits for another one's.
  auto const schedule = schedule_of(CollectiveKind::kAllToAll, Algorithm::kPairwise, 64, 0, 8);
  auto outside = std::int64_t{0};
  for (auto step = std::int64_t{0}; step < schedule.steps; ++step) {
    auto counts = std::vector<std::int64_t>(64);
    for (auto rank = std::int64_t{0}; rank < 64; ++rank)
      for (auto lane = std::int64_t{0}; lane < schedule.lanes; ++lane)
        if (auto const message = schedule.message(rank, step, lane))
          counts[static_cast<std::size_t>(rank)] += message->to / 8 != rank / 8 ? 1 : 0;
    CHECK(std::ranges::count(counts, counts.front()) == 64);
    outside += counts.front();
  }
  CHECK(outside == 56);
}

TEST_CASE("a small all_to_all waits for its rounds of eight peers", "[folded][pairwise]") {
  // 17 ranks have 16 peers: two rounds.
  CHECK(flat(CollectiveKind::kAllToAll, Algorithm::kPairwise, 17, 17_B).timing.total() == 2_us);
  CHECK(flat(CollectiveKind::kGather, Algorithm::kPairwise, 9, 9_B).timing.total() == 1_us);
}
