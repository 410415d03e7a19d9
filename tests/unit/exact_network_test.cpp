#include <array>

#include "sim/engine/virtual_executor.hpp"
#include "sim/program/builder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::program;
using engine::Fidelity;

namespace {

using Axes = std::vector<std::string_view>;

/// A step in which every rank takes part in the same collective along each of `axes`, all at once on streams of their
/// own: two communicators, say. Gives when each of the first rank's collectives ended.
std::vector<Time> ends_of(Grid const& grid, std::vector<Axes> const& axes, CollectiveKind kind, std::int64_t bytes,
                          hardware::Cluster const& cluster, Fidelity fidelity) {
  auto builder = ProgramBuilder{grid};
  auto& role = builder.role("rank");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto const name = "c" + std::to_string(i);
    auto const communicator = builder.communicator(name, builder.grids().find(axes[i]).value());
    auto const stream = role.stream(name);
    auto const buffer = [&] {
      return role.whole(role.buffer({.name = builder.name("buffer"), .elements = bytes, .type = DataType::kInt8}));
    };
    role.add(stream, builder.name(name),
             Collective{.kind = kind, .type = DataType::kInt8, .communicator = communicator, .elements = bytes},
             buffer(), buffer());
  }
  auto const timeline = engine::run(std::move(builder).finish(), engine::Machine{cluster}, {.fidelity = fidelity});
  auto out = std::vector<Time>{};
  for (std::size_t i = 0; i < axes.size(); ++i) out.push_back(timeline.spans[i].end);
  return out;
}

double ratio(Time a, Time b) {
  return to_seconds(a).count() / to_seconds(b).count();
}

}  // namespace

TEST_CASE("two communicators that share a NIC have half of it each", "[engine][exact]") {
  // Two nodes of two GPUs on one NIC of 10 GB/s: ranks 0, 1 | 2, 3. The groups along data are {0, 2} and {1, 3}; an
  // all_reduce of 20 MB between two ranks puts 20 MB on each NIC, so both groups together 40 MB: 4 ms; alone 2 ms.
  auto cluster = tests::ideal_cluster(2, 2, hardware::IntraNode::kNvSwitch);
  cluster.node().nics = 1;
  cluster.node().nic.value = 10_GBps;
  cluster.fabric.levels = {{"leaf", 2, {1.0}, {}}};
  auto const grid = Grid{{{"data", 2}, {"tensor", 2}}};
  auto const ends = ends_of(grid, {{"data"}}, CollectiveKind::kAllReduce, 20'000'000, cluster, Fidelity::kExact);
  CHECK(ends[0] == 4_ms);
  CHECK(ends_of(grid, {{"data"}}, CollectiveKind::kAllReduce, 20'000'000, cluster, Fidelity::kFolded) == ends);
  // Closed says the same of groups of one communicator, but not of a second communicator beside it.
  auto const twice = std::vector<Axes>{{"data"}, {"data"}};
  CHECK(ends_of(grid, twice, CollectiveKind::kAllReduce, 20'000'000, cluster, Fidelity::kExact)[1] == 8_ms);
  CHECK(ends_of(grid, twice, CollectiveKind::kAllReduce, 20'000'000, cluster, Fidelity::kFolded)[1] == 8_ms);
  CHECK(ends_of(grid, twice, CollectiveKind::kAllReduce, 20'000'000, cluster, Fidelity::kClosed)[1] == 4_ms);
}

TEST_CASE("an uplink with 7 times less than its leaf is the bottleneck of those who leave it", "[engine][exact]") {
  // Leaves of 7 nodes with NICs of 10 GB/s, 7 : 1, so one uplink of 10 GB/s for seven. Rank r of the first leaf and
  // rank r of the second all_reduce 10 MB: 7 × 10 MB over the uplink, 7 ms; within a leaf, by neighbours, it would be 1
  // ms.
  auto cluster = tests::ideal_cluster(14, 1, hardware::IntraNode::kNone);
  cluster.node().nic.value = 10_GBps;
  cluster.fabric.levels = {{"leaf", 7, {7.0}, {}}, {"spine", 14, {1.0}, {}}};
  auto const grid = Grid{{{"replicate", 2}, {"data", 7}}};
  auto const ends = [&](Fidelity fidelity) {
    return ends_of(grid, {{"replicate"}}, CollectiveKind::kAllReduce, 10'000'000, cluster, fidelity)[0];
  };
  CHECK(ends(Fidelity::kExact) == 7_ms);
  CHECK(ends(Fidelity::kFolded) == 7_ms);
}

TEST_CASE("two communicators that share NVLink ports have half of them each", "[engine][exact]") {
  // One node of 4 GPUs, 100 GB/s a port. all_reduce of 100 MB in pairs puts 100 MB on each port, over all four ranks
  // 150 MB. The pairs have 50 GB/s until 2 ms; the four then have 50 MB left, at 100 GB/s: 2.5 ms.
  auto cluster = tests::crossbar_node(4, 100_GBps, 0_us);
  auto const grid = Grid{{{"data", 2}, {"tensor", 2}}};
  auto const both = std::vector<Axes>{{"tensor"}, {"data", "tensor"}};
  auto const ends = ends_of(grid, both, CollectiveKind::kAllReduce, 100'000'000, cluster, Fidelity::kFolded);
  CHECK(ends[0] == 2_ms);
  CHECK(ends[1] == 2500_us);
  // Message by message the ring of four has turns in which its chunk waits for a neighbour's that is slower.
  auto const exact = ends_of(grid, both, CollectiveKind::kAllReduce, 100'000'000, cluster, Fidelity::kExact);
  CHECK(ratio(exact[0], ends[0]) == Approx(1).epsilon(0.05));
  CHECK(ratio(exact[1], ends[1]) == Approx(1).epsilon(0.05));
}

TEST_CASE("a copy and a staged all_reduce share a PCIe link", "[engine][exact]") {
  // Two GPUs on one root, 10 GB/s a slot; an all_reduce of 10 MB between them puts 10 MB on each direction of both. A
  // copy of 10 MB to the host shares the way out: 5 GB/s each, both end after 2 ms.
  auto cluster = tests::ideal_cluster(1, 2, hardware::IntraNode::kPcieStaged);
  cluster.node().gpu_link.value = 10_GBps;
  auto builder = ProgramBuilder{Grid{{{"data", 2}}}};
  auto& role = builder.role("rank");
  auto const all = builder.communicator("all", {"data"});
  auto const buffer =
      role.whole(role.buffer({.name = builder.name("buffer"), .elements = 10'000'000, .type = DataType::kInt8}));
  auto const other =
      role.whole(role.buffer({.name = builder.name("other"), .elements = 10'000'000, .type = DataType::kInt8}));
  role.add(role.stream("communication"), builder.name("reduce"),
           Collective{.type = DataType::kInt8, .communicator = all, .elements = 10'000'000}, buffer, buffer);
  role.add(role.stream("copy"), builder.name("copy"),
           Copy{.direction = CopyDirection::kDeviceToHost, .bytes = 10'000'000}, {reads(other)});
  auto const program = std::move(builder).finish();
  for (auto const fidelity : {Fidelity::kExact, Fidelity::kFolded}) {
    auto const timeline = engine::run(program, engine::Machine{cluster}, {.fidelity = fidelity});
    CHECK(timeline.tracks.size() == (fidelity == Fidelity::kExact ? 2 : 1));
    for (auto const& span : timeline.spans) CHECK(ratio(span.end, 2_ms) == Approx(1).epsilon(0.05));
  }
}

TEST_CASE("folded stays within 5 % of exact where two communicators share links", "[engine][exact][property]") {
  // Data parallel across nodes beside tensor parallel inside them, and beside all ranks; NICs and ports of distinct
  // rate.
  auto cluster = tests::h100_like(4);
  for (auto const nics : {8, 2}) {
    cluster.node().nics = nics;
    cluster.fabric.is_rail_optimised = nics == 8;
    for (auto const kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll}) {
      auto const grid = Grid{{{"data", 4}, {"tensor", 8}}};
      for (auto const& both : {std::vector<Axes>{{"data"}, {"tensor"}}, std::vector<Axes>{{"data"}, {"data", "tensor"}},
                               std::vector<Axes>{{"tensor"}, {"data", "tensor"}}}) {
        auto const exact = ends_of(grid, both, kind, 256 << 20, cluster, Fidelity::kExact);
        auto const folded = ends_of(grid, both, kind, 256 << 20, cluster, Fidelity::kFolded);
        INFO(name_of(kind) << ", " << nics << " NICs: " << exact[0].count() << " and " << exact[1].count()
                           << " ps exact, " << folded[0].count() << " and " << folded[1].count() << " folded");
        CHECK(ratio(std::max(exact[0], exact[1]), std::max(folded[0], folded[1])) == Approx(1).epsilon(0.05));
      }
    }
  }
}

TEST_CASE("an exact step takes as long as a folded one where nothing is shared unevenly", "[engine][exact]") {
  auto const cluster = tests::flat_cluster(4, 10_GBps, 5_us);
  auto const grid = Grid{{{"data", 4}}};
  // A ring of 4: 6 steps of 5 us and 10 MB / 4 at 10 GB/s = 250 us.
  for (auto const fidelity : {Fidelity::kExact, Fidelity::kFolded, Fidelity::kClosed})
    CHECK(ends_of(grid, {{"data"}}, CollectiveKind::kAllReduce, 10'000'000, cluster, fidelity)[0] == 1530_us);
}

TEST_CASE("a collective between nodes shares PCIe with a copy by bytes, whichever of its links is narrow",
          "[engine][exact][contention]") {
  // Two nodes of four GPUs, each with a NIC of 20 GB/s behind PCIe of 10 GB/s. A ring of 8 moves W = 7/8 of its buffer:
  // W/4 through each NIC and 3 W/4 through each port. Of 40 MB these are 10 MB and 30 MB. A copy that lasts longer
  // leaves the NIC's bytes half of PCIe, 5 GB/s: 2 ms. The ports need less, be they wider than that (30 MB at 100 GB/s
  // take 0.3 ms) or what would hold the collective back if it were alone (1.03 ms at 29 GB/s, and 1 ms through PCIe).
  auto const bytes = std::int64_t{45'714'288};
  for (auto const port : {100_GBps, 29_GBps})
    for (auto const fidelity : {Fidelity::kFolded, Fidelity::kExact}) {
      auto cluster = tests::ideal_cluster(2, 4, hardware::IntraNode::kNvSwitch);
      cluster.node().nic.value = 20_GBps;
      cluster.node().pcie.value = 10_GBps;
      cluster.node().gpu_link.value = port;
      cluster.fabric.levels = {{"leaf", 2, {1.0}, {}}};
      auto builder = ProgramBuilder{Grid{{{"data", 8}}}};
      auto const all = builder.communicator("all", builder.grids().find({{"data"}}).value());
      auto& role = builder.role("rank");
      auto const buffer = [&] {
        return role.whole(role.buffer({.name = builder.name("b"), .elements = bytes, .type = DataType::kInt8}));
      };
      role.add(role.stream("network"), builder.name("gather"),
               Collective{
                   .kind = CollectiveKind::kAllGather, .type = DataType::kInt8, .communicator = all, .elements = bytes},
               buffer(), buffer());
      role.add(role.stream("copy"), builder.name("copy"), Copy{CopyDirection::kDeviceToHost, 100'000'000}, {});
      auto const step = engine::run(std::move(builder).finish(), engine::Machine{cluster}, {.fidelity = fidelity});
      CHECK(to_seconds(step.spans[0].end).count() == Approx(2e-3).epsilon(0.001));
      CHECK(to_seconds(step.spans[1].end).count() == Approx(11e-3).epsilon(0.001));
    }
}
