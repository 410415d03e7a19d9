#include <algorithm>
#include <vector>

#include "sim/engine/virtual_executor.hpp"
#include "sim/io/timeline_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/programs.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using engine::Fidelity;

namespace {

/// FSDP2 on the GPUs of one node, HSDP over two nodes (shards inside, replicas between), and one large all_reduce.
std::vector<program::StepProgram> programs() {
  auto const model = strategies::ModelSpec{tests::tiny_llama()};
  auto fsdp = tests::fsdp_plan(strategies::StrategyName::kFsdp2, 8);
  fsdp.batch.sequence_length = 32;
  auto hsdp = tests::fsdp_plan(strategies::StrategyName::kFsdp2, 16);
  hsdp.batch.sequence_length = 32;
  hsdp.parallel.shard_group = 8;
  auto out = std::vector<program::StepProgram>{};
  out.push_back(tests::compiled(model, fsdp));
  out.push_back(tests::compiled(model, hsdp));
  out.push_back(tests::in_place_all_reduce(16, 10'000'019));  // divides by nothing
  return out;
}

hardware::Cluster two_nodes_with_rings() {
  auto cluster = tests::h100_like(2);
  cluster.library.choice = hardware::Choice::kFixed;
  for (auto const collective : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter})
    cluster.library.algorithms[collective] = {
        .algorithm = hardware::Algorithm::kRing, .messages_per_step = {}, .half_duplex_beyond = {}};
  return cluster;
}

struct Sums {
  double intra = 0;
  double inter = 0;
};

/// The integral over time of what the counters show, for all ranks of each track.
Sums integral(timeline::Timeline const& timeline) {
  auto sums = Sums{};
  auto const rates = io::link_rates(timeline);
  for (std::size_t i = 0; i + 1 < rates.size(); ++i) {
    auto const& now = rates[i];
    if (rates[i + 1].track != now.track) continue;
    auto const rank_seconds = to_seconds(rates[i + 1].time - now.time).count() *
                              static_cast<double>(timeline.tracks[now.track.index()].multiplicity);
    sums.intra += now.intra * rank_seconds;
    sums.inter += now.inter * rank_seconds;
  }
  return sums;
}

}  // namespace

TEST_CASE("what the counters show sums up to the bytes on the wire, whatever the fidelity", "[engine][traffic]") {
  auto const machine = engine::Machine{two_nodes_with_rings()};
  for (auto const& program : programs())
    for (auto const fidelity : {Fidelity::kFolded, Fidelity::kClosed, Fidelity::kExact}) {
      auto const timeline = engine::run(program, machine, {.fidelity = fidelity});
      CAPTURE(program.grids.world_size(), static_cast<int>(fidelity));
      auto const sums = integral(timeline);
      CHECK(timeline.wire.intra > 0_B);
      CHECK(sums.intra == Approx(static_cast<double>(timeline.wire.intra.count())).epsilon(1e-9));
      CHECK(sums.inter == Approx(static_cast<double>(timeline.wire.inter.count())).epsilon(1e-9));
    }
}

TEST_CASE("a ring all_reduce of S bytes over 2 nodes of 8 puts 2 (n - 1) S on links, one eighth between nodes",
          "[engine][traffic]") {
  auto const timeline = engine::run(tests::in_place_all_reduce(16, 1 << 20), engine::Machine{two_nodes_with_rings()});
  // 30 x 4 MiB over 16 hops of which two lead to the other node.
  CHECK(timeline.wire == timeline::WireTotals{4_MiB * 30 / 8 * 7, 4_MiB * 30 / 8});
}

TEST_CASE("no counter exceeds the rate of its link, and all end at zero", "[engine][traffic]") {
  auto const cluster = two_nodes_with_rings();
  auto const machine = engine::Machine{cluster};
  for (auto const& program : programs()) {
    auto const rates = io::link_rates(engine::run(program, machine));
    for (auto const& now : rates) {
      CHECK(now.intra <= cluster.node().gpu_link.value.count());
      CHECK(now.inter <= cluster.node().nic.value.count());
    }
    REQUIRE_FALSE(rates.empty());
    CHECK(rates.back().intra == 0);
    CHECK(rates.back().inter == 0);
  }
}

TEST_CASE("a step without communication has no traffic", "[engine][traffic]") {
  auto const machine = engine::Machine{two_nodes_with_rings()};
  for (auto const& program : programs()) {
    auto const timeline = engine::run(program, machine, {.communication_is_free = true});
    CHECK(timeline.traffic.empty());
    CHECK(io::link_rates(timeline).empty());
  }
}
