#include "sim/collectives/schedule.hpp"

#include <set>

#include "sim/base/input_error.hpp"
#include "sim/collectives/pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/execution.hpp"

using namespace twinstep;
using namespace twinstep::collectives;
using Catch::Contains;
using program::Reduction;
using Buffers = RankBuffers<double>;

namespace {

/// Rank r of four holds r, r + 1, r + 2, r + 3. The sums over ranks are 6, 10, 14, 18.
Buffers const kFourRanks = {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}};

Buffers run(CollectiveKind kind, Algorithm algorithm, Buffers const& sent, std::int64_t root = 0) {
  auto const ranks = static_cast<std::int64_t>(sent.size());
  return run_collective(schedule_of(kind, algorithm, ranks, root), Reduction::kSum, sent);
}

}  // namespace

TEST_CASE("all_reduce leaves the sum of all ranks everywhere", "[schedule]") {
  auto const sums = std::vector<double>{6, 10, 14, 18};
  for (auto const algorithm : {Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls, Algorithm::kNvlsTree})
    CHECK(run(CollectiveKind::kAllReduce, algorithm, kFourRanks) == Buffers(4, sums));
}

TEST_CASE("the ring's first step adds rank 0's chunk 0 to rank 1's", "[schedule][ring]") {
  auto ring =
      Execution<double>{schedule_of(CollectiveKind::kAllReduce, Algorithm::kRing, 4), Reduction::kSum, kFourRanks};
  ring.run_step();
  CHECK(ring.buffers()[1] == std::vector<double>{0 + 1, 2, 3, 4});
}

TEST_CASE("after three steps of a ring of four, rank r owns chunk r + 1 complete", "[schedule][ring]") {
  auto ring =
      Execution<double>{schedule_of(CollectiveKind::kAllReduce, Algorithm::kRing, 4), Reduction::kSum, kFourRanks};
  for (auto step = 0; step < 3; ++step) ring.run_step();
  CHECK(ring.buffers()[0][1] == 10);
  CHECK(ring.buffers()[1][2] == 14);
  CHECK(ring.buffers()[2][3] == 18);
  CHECK(ring.buffers()[3][0] == 6);
  CHECK_FALSE(ring.is_done());
}

TEST_CASE("each rank of a ring of four sends six chunks, three to reduce and three to gather", "[schedule][ring]") {
  auto ring =
      Execution<double>{schedule_of(CollectiveKind::kAllReduce, Algorithm::kRing, 4), Reduction::kSum, kFourRanks};
  for (auto step = 0; step < 3; ++step) ring.run_step();
  for (auto rank = 0; rank < 4; ++rank) CHECK(ring.sent_elements(rank) == 3);
  ring.run();
  for (auto rank = 0; rank < 4; ++rank) CHECK(ring.sent_elements(rank) == 6);
}

TEST_CASE("reduce_scatter leaves chunk r of the sum on rank r", "[schedule]") {
  for (auto const algorithm : {Algorithm::kRing, Algorithm::kNvls, Algorithm::kPairwise})
    CHECK(run(CollectiveKind::kReduceScatter, algorithm, kFourRanks) == Buffers{{6}, {10}, {14}, {18}});
}

TEST_CASE("all_gather gives every rank the chunks of all", "[schedule]") {
  for (auto const algorithm : {Algorithm::kRing, Algorithm::kNvls, Algorithm::kPairwise})
    CHECK(run(CollectiveKind::kAllGather, algorithm, {{6}, {10}, {14}, {18}}) == Buffers(4, {6, 10, 14, 18}));
}

TEST_CASE("broadcast gives every rank what the root holds", "[schedule]") {
  for (auto const algorithm : {Algorithm::kRing, Algorithm::kBinomial, Algorithm::kNaive})
    CHECK(run(CollectiveKind::kBroadcast, algorithm, kFourRanks, 2) == Buffers(4, {2, 3, 4, 5}));
}

TEST_CASE("reduce gives the root the sum", "[schedule]") {
  for (auto const algorithm : {Algorithm::kRing, Algorithm::kBinomial, Algorithm::kNaive})
    CHECK(run(CollectiveKind::kReduce, algorithm, kFourRanks, 1) == Buffers{{}, {6, 10, 14, 18}, {}, {}});
}

TEST_CASE("scatter deals out the root's chunks, and gather collects them", "[schedule]") {
  CHECK(run(CollectiveKind::kScatter, Algorithm::kPairwise, {{}, {}, {}, {3, 4, 5, 6}}, 3) ==
        Buffers{{3}, {4}, {5}, {6}});
  CHECK(run(CollectiveKind::kGather, Algorithm::kPairwise, {{3}, {4}, {5}, {6}}, 3) ==
        Buffers{{}, {}, {}, {3, 4, 5, 6}});
}

TEST_CASE("all_to_all transposes: chunk d of rank r becomes chunk r of rank d", "[schedule]") {
  // The example is symmetric, so tens mark the sender.
  auto const sent = Buffers{{0, 1, 2, 3}, {10, 11, 12, 13}, {20, 21, 22, 23}, {30, 31, 32, 33}};
  CHECK(run(CollectiveKind::kAllToAll, Algorithm::kPairwise, sent) ==
        Buffers{{0, 10, 20, 30}, {1, 11, 21, 31}, {2, 12, 22, 32}, {3, 13, 23, 33}});
}

TEST_CASE("an average is the sum over the number of ranks, and max and min pick", "[schedule]") {
  auto const ring = schedule_of(CollectiveKind::kAllReduce, Algorithm::kRing, 4);
  CHECK(run_collective(ring, Reduction::kAverage, kFourRanks)[2] == std::vector<double>{1.5, 2.5, 3.5, 4.5});
  CHECK(run_collective(ring, Reduction::kMax, kFourRanks)[0] == std::vector<double>{3, 4, 5, 6});
  CHECK(run_collective(ring, Reduction::kMin, kFourRanks)[3] == std::vector<double>{0, 1, 2, 3});
}

TEST_CASE("a ring takes 2(p - 1) steps to all_reduce and p - 1 to gather or scatter", "[schedule][ring]") {
  CHECK(schedule_of(CollectiveKind::kAllReduce, Algorithm::kRing, 8).steps == 14);
  CHECK(schedule_of(CollectiveKind::kAllGather, Algorithm::kRing, 8).steps == 7);
  CHECK(schedule_of(CollectiveKind::kReduceScatter, Algorithm::kRing, 8).steps == 7);
}

TEST_CASE("the first all_reduce tree of eight nodes is NCCL's", "[schedule][tree]") {
  // NVIDIA/nccl src/graph/trees.cc: odd nodes are leaves; 0 - 4; 4 - 2, 6; 2 - 1, 3; 6 - 5, 7. Chunk 0 takes this tree.
  auto const tree = schedule_of(CollectiveKind::kAllReduce, Algorithm::kTree, 8);
  CHECK(tree.steps == 6);  // three levels up, three down
  auto const up = [&](std::int64_t rank, std::int64_t step) { return tree.message(rank, step, 0)->to; };
  CHECK(up(1, 0) == 2);
  CHECK(up(3, 0) == 2);
  CHECK(up(5, 0) == 6);
  CHECK(up(7, 0) == 6);
  CHECK(up(2, 1) == 4);
  CHECK(up(6, 1) == 4);
  CHECK(up(4, 2) == 0);
  CHECK_FALSE(tree.message(0, 2, 0).has_value());
}

TEST_CASE("no node of an even double tree is inside both trees", "[schedule][tree]") {
  for (auto const nodes : {2, 4, 6, 8, 12, 16, 30}) {
    auto const tree = schedule_of(CollectiveKind::kAllReduce, Algorithm::kTree, nodes);
    auto inside = std::multiset<std::int64_t>{};  // receives in a reducing step of that chunk's tree
    for (auto const chunk : {0, 1}) {
      auto receivers = std::set<std::int64_t>{};
      for (auto rank = 0; rank < nodes; ++rank)
        for (auto step = 0; step < tree.steps / 2; ++step)
          if (auto const message = tree.message(rank, step, 2 * chunk)) receivers.insert(message->to);
      inside.insert(receivers.begin(), receivers.end());
    }
    for (auto rank = 0; rank < nodes; ++rank) CHECK(inside.count(rank) <= 1);
  }
}

TEST_CASE("inside a node the tree is a chain to the first GPU", "[schedule][tree]") {
  auto const tree = schedule_of(CollectiveKind::kAllReduce, Algorithm::kTree, 8, 0, 4);
  CHECK(tree.steps == 2 * (3 + 1));  // 2 ((p - 1) + log2 N)
  CHECK(*tree.message(7, 0, 0) == Message{6, 0, 2, true});
  CHECK(*tree.message(5, 2, 0) == Message{4, 0, 2, true});
  CHECK(*tree.message(4, 3, 0) == Message{0, 0, 1, true});
  CHECK(*tree.message(0, 3, 2) == Message{4, 1, 1, true});
}

TEST_CASE("a switch adds up for its heads and copies to everyone", "[schedule][nvls]") {
  // Of four ranks 0 … 3, agent 4 + h is the part of the switch that works for head h.
  auto const nvls = schedule_of(CollectiveKind::kAllReduce, Algorithm::kNvls, 4);
  CHECK(nvls.steps == 4);
  CHECK(*nvls.message(1, 0, 3) == Message{7, 3, 1, true});
  CHECK(*nvls.message(7, 1, 0) == Message{3, 3, 1, false});
  CHECK(*nvls.message(3, 2, 0) == Message{7, 3, 1, false});
  CHECK(*nvls.message(7, 3, 1) == Message{1, 3, 1, false});

  auto execution = Execution<double>{nvls, Reduction::kSum, kFourRanks};
  execution.run();
  // Out: four chunks to the switch, and one's own sum back to it. In: that sum, and all four of them.
  for (auto rank = 0; rank < 4; ++rank) {
    CHECK(execution.sent_elements(rank) == 5);
    CHECK(execution.received_elements(rank) == 5);
  }
}

TEST_CASE("heads of one place in their nodes climb the trees together", "[schedule][nvls]") {
  // Two nodes of four ranks: rails 0 … 3, chunks 2h and 2h + 1 of rail h take the two trees.
  auto const tree = schedule_of(CollectiveKind::kAllReduce, Algorithm::kNvlsTree, 8, 0, 4);
  CHECK(tree.steps == 6);
  CHECK(*tree.message(5, 0, 2) == Message{8 + 6, 4, 2, true});
  CHECK(*tree.message(8 + 6, 1, 0) == Message{6, 4, 2, false});
  CHECK(*tree.message(6, 2, 0) == Message{2, 4, 1, true});
  CHECK(*tree.message(2, 2, 2) == Message{6, 5, 1, true});
  CHECK(*tree.message(2, 3, 0) == Message{6, 4, 1, false});
  CHECK(*tree.message(6, 4, 0) == Message{8 + 6, 4, 2, false});
  CHECK(*tree.message(8 + 6, 5, 1) == Message{5, 4, 2, false});
}

TEST_CASE("in step t of a pipeline stage k handles piece t - k", "[schedule][pipeline]") {
  auto const pipe = pipelined(schedule_of(CollectiveKind::kAllReduce, Algorithm::kTree, 4), 3);
  CHECK(pipe.steps == 4 + 2);  // two levels up, two down, two more pieces
  // Rank 1 is a leaf of the first tree and sends chunk 0 of every piece to rank 2 in stage 0.
  for (auto piece = 0; piece < 3; ++piece) CHECK(*pipe.message(1, piece, 0) == Message{2, 2 * piece, 1, true});
  CHECK_FALSE(pipe.message(1, 3, 0));
  // Rank 2, its parent, hands them on to rank 0 in stage 1, four lanes further.
  CHECK_FALSE(pipe.message(2, 0, 4));
  for (auto piece = 0; piece < 3; ++piece) CHECK(*pipe.message(2, 1 + piece, 4) == Message{0, 2 * piece, 1, true});
}

TEST_CASE("a piece of an all_gather is a part of every rank's chunk", "[schedule][pipeline]") {
  auto const pipe = pipelined(schedule_of(CollectiveKind::kAllGather, Algorithm::kNvls, 4), 5);
  CHECK(pipe.chunks == 20);
  CHECK(*pipe.message(2, 3, 0) == Message{4 + 2, 2 * 5 + 3, 1, false});
}

TEST_CASE("one rank sends nothing", "[schedule]") {
  for (auto const algorithm : {Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls, Algorithm::kNvlsTree}) {
    CHECK(schedule_of(CollectiveKind::kAllReduce, algorithm, 1).steps == 0);
    CHECK(run(CollectiveKind::kAllReduce, algorithm, {{1, 2}}) == Buffers{{1, 2}});
  }
}

TEST_CASE("an algorithm that cannot do a collective is refused with those that can", "[schedule]") {
  CHECK_THROWS_WITH(schedule_of(CollectiveKind::kAllGather, Algorithm::kTree, 4),
                    Contains("algorithm: \"tree\" cannot do all_gather; these can: ring, nvls"));
  CHECK_THROWS_AS(schedule_of(CollectiveKind::kAllToAll, Algorithm::kRing, 4), InputError);
}
