#include <string>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/choice.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;

namespace {

/// One rank a node on 1 Gbit/s, 40 us a message, by Gloo, which starts a collective in 10 us.
hardware::Cluster gloo_cluster(std::int64_t ranks) {
  auto cluster = tests::flat_cluster(ranks, BytesPerSecond{125e6}, 40_us);
  cluster.library = hw_profiles::read_library(io::string_node("gloo", "library"));
  cluster.library.kernel_start.value = 10_us;
  cluster.library.memory_bytes_per_wire_byte.value = 0;
  return cluster;
}

struct Asked {
  hardware::Cluster cluster;
  topology::Topology topology{cluster};
  Layout layout{cluster.gpus(), {{cluster.nodes(), 1}}, 0, 1, 0, 1, 1};
  Chooser chooser{layout, cluster, topology};

  explicit Asked(hardware::Cluster machine) : cluster{std::move(machine)} {}
  [[nodiscard]] Algorithm algorithm(CollectiveKind kind, Bytes size) const {
    return chooser.choose({.kind = kind, .size = size}).algorithm;
  }
  [[nodiscard]] Duration time(CollectiveKind kind, Bytes size) const {
    return time_alone(chooser.fold({.kind = kind, .size = size}), topology);
  }
};

}  // namespace

TEST_CASE("Gloo does each collective in one way, whatever the size", "[collectives][gloo]") {
  // gloo/allreduce.cc, allgather.cc, broadcast.cc, alltoall.cc, gather.cc of May 2022.
  auto const gloo = Asked{gloo_cluster(4)};
  for (auto const size : {1_KiB, 64_KiB, 32_MiB}) {
    CHECK(gloo.algorithm(CollectiveKind::kAllReduce, size) == Algorithm::kRing);
    CHECK(gloo.algorithm(CollectiveKind::kAllGather, size) == Algorithm::kRing);
    CHECK(gloo.algorithm(CollectiveKind::kReduceScatter, size) == Algorithm::kRing);
    CHECK(gloo.algorithm(CollectiveKind::kBroadcast, size) == Algorithm::kBinomial);
    CHECK(gloo.algorithm(CollectiveKind::kAllToAll, size) == Algorithm::kPairwise);
    CHECK(gloo.algorithm(CollectiveKind::kGather, size) == Algorithm::kPairwise);
  }
}

TEST_CASE("a ring all_reduce of Gloo over 2 ranks sends the buffer once, in four messages", "[collectives][gloo]") {
  // 2 steps of half the buffer each, two segments a step: 10 us + 4 x 40 us + 1 MB / 0.125 GB/s = 8.17 ms.
  auto const gloo = Asked{gloo_cluster(2)};
  CHECK(gloo.time(CollectiveKind::kAllReduce, 1_MB) == 8170_us);
  // 1 step, one message of half the buffer: 10 us + 40 us + 4 ms.
  CHECK(gloo.time(CollectiveKind::kReduceScatter, 1_MB) == 4050_us);
}

TEST_CASE("the two directions of a connection take turns where sends are posted first", "[collectives][gloo]") {
  auto cluster = gloo_cluster(2);
  cluster.library.algorithms.at(CollectiveKind::kAllGather).half_duplex_beyond->value = 250_KB;
  // Half of 1 MB each way, of which 250 KB pass while the other direction does: 750 KB one after another.
  CHECK(Asked{cluster}.time(CollectiveKind::kAllGather, 1_MB) == 50_us + 6_ms);
  // With three ranks nobody receives from the one that it sends to: 2 steps of a third of 0.9 MB.
  cluster = gloo_cluster(3);
  CHECK(Asked{cluster}.time(CollectiveKind::kAllGather, 900_KB) == 90_us + 4800_us);
}

TEST_CASE("Gloo serves the peers of an all_to_all one after another", "[collectives][gloo]") {
  // 3 messages of 40 us, and three quarters of 200 KB over the port.
  CHECK(Asked{gloo_cluster(4)}.time(CollectiveKind::kAllToAll, 200_KB) == 10_us + 120_us + 1200_us);
}

TEST_CASE("a link shaped by a token bucket makes up for the waiting", "[collectives][gloo]") {
  auto cluster = gloo_cluster(2);
  cluster.fabric.transport.is_token_bucket = true;
  auto const shaped = Asked{cluster};
  CHECK(shaped.time(CollectiveKind::kAllReduce, 1_MB) == 8_ms);    // its bytes, which take longer than 170 us
  CHECK(shaped.time(CollectiveKind::kAllReduce, 1_KB) == 170_us);  // its messages: 1 KB takes 8 us
}

TEST_CASE("communication of a library without a choice holds no multiprocessor", "[collectives][gloo]") {
  CHECK(Asked{gloo_cluster(2)}.chooser.fold({.kind = CollectiveKind::kAllReduce, .size = 1_MB}).channels == 0);
}

TEST_CASE("another algorithm than the library's own can be asked for", "[collectives][gloo]") {
  auto const gloo = Asked{gloo_cluster(2)};
  auto const chosen = gloo.chooser.choose({.kind = CollectiveKind::kAllReduce,
                                           .size = 1_MB,
                                           .forced = {.algorithm = Algorithm::kHalvingDoubling, .protocol = {}}});
  CHECK(chosen.algorithm == Algorithm::kHalvingDoubling);
}

TEST_CASE("a collective that the library does not have is refused with the way out", "[collectives][gloo]") {
  auto cluster = gloo_cluster(2);
  cluster.library.algorithms.erase(CollectiveKind::kBroadcast);
  auto const gloo = Asked{cluster};
  CHECK_THROWS_WITH(gloo.algorithm(CollectiveKind::kBroadcast, 1_MB),
                    "library gloo does not say how it does broadcast; add it to its algorithms, or force one");
}

TEST_CASE("a library may be told to take the fastest instead of its own way", "[hw_profiles][gloo]") {
  auto cluster = gloo_cluster(4);
  cluster.library =
      hw_profiles::read_library(io::parse({"test", R"({"profile": "gloo", "choice": "fastest"})", false}));
  CHECK(cluster.library.fixed(CollectiveKind::kBroadcast) == nullptr);
  // A ring passes large buffers on while they arrive; a tree's second step waits for the first.
  CHECK(Asked{cluster}.algorithm(CollectiveKind::kBroadcast, 32_MiB) == Algorithm::kRing);
}

TEST_CASE("a library without a choice has to say what it does", "[hw_profiles][gloo]") {
  auto const document = io::parse({"test", R"({"profile": "ideal", "choice": "fixed"})", false});
  CHECK_THROWS_WITH(hw_profiles::read_library(document), Catch::Contains("expected one for each collective"));
}
