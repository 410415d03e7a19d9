#include <vector>

#include <benchmark/benchmark.h>

#include "sim/engine/collective_run.hpp"
#include "sim/engine/flow_clock.hpp"
#include "tests/support/clusters.hpp"

/// What the exact fidelity costs. Goals on one core: 12 million messages a second by rings, 4 million by trees; a
/// solution near-linear in the flows that it touches.
namespace {

using namespace twinstep;
using namespace twinstep::literals;

void report(benchmark::State& state, engine::CollectiveResult const& result) {
  auto const per_second = [](std::int64_t count) {
    return benchmark::Counter{static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate};
  };
  state.counters["messages_per_s"] = per_second(result.messages);
  state.counters["events_per_s"] = per_second(result.events);
  state.counters["messages"] = static_cast<double>(result.messages);
  state.counters["predicted_ms"] = to_seconds(result.time).count() * 1e3;
}

void run(benchmark::State& state, hardware::Cluster const& cluster, collectives::Layout const& layout,
         CollectiveKind kind, collectives::Algorithm algorithm) {
  auto const topology = topology::Topology{cluster};
  auto const placement = collectives::Placement{layout, cluster, topology};
  auto request = collectives::FoldRequest{kind, 1_GiB, placement, cluster, topology};
  request.algorithm = algorithm;
  auto result = engine::CollectiveResult{};
  for (auto _ : state) result = engine::run_collective(request, layout, engine::Fidelity::kExact);
  report(state, result);
}

/// Every rank on one switch: all messages of a step begin and end together.
void ring_on_flat_switch(benchmark::State& state) {
  auto const ranks = state.range(0);
  run(state, tests::flat_cluster(ranks, 50_GBps, 1_us), {ranks, {{ranks, 1}}, 0, 1, 0, 1, 1},
      CollectiveKind::kAllReduce, collectives::Algorithm::kRing);
}

/// A pipeline of pieces up and down two trees of ranks.
void tree_on_flat_switch(benchmark::State& state) {
  auto const ranks = state.range(0);
  run(state, tests::flat_cluster(ranks, 50_GBps, 1_us), {ranks, {{ranks, 1}}, 0, 1, 0, 1, 1},
      CollectiveKind::kAllReduce, collectives::Algorithm::kTree);
}

/// Lanes over nodes of 8: NVLink ports shared by seven messages.
void ring_on_nodes(benchmark::State& state) {
  auto const nodes = state.range(0);
  run(state, tests::h100_like(nodes), {nodes * 8, {{nodes, 8}}, 0, 1, 0, 1, 1}, CollectiveKind::kAllReduce,
      collectives::Algorithm::kRing);
}

/// Every NIC shared by eight messages.
void all_to_all_on_nodes(benchmark::State& state) {
  auto const nodes = state.range(0);
  run(state, tests::h100_like(nodes), {nodes * 8, {{nodes, 8}}, 0, 1, 0, 1, 1}, CollectiveKind::kAllToAll,
      collectives::Algorithm::kPairwise);
}

/// One component of so many flows, chained over links that two or three of them share, solved again whenever one ends
/// and another begins.
void solve_chain(benchmark::State& state) {
  auto const flows = static_cast<std::size_t>(state.range(0));
  auto network = engine::FluidNetwork{};
  auto links = std::vector<std::uint32_t>{};
  for (std::size_t i = 0; i <= flows; ++i)
    links.push_back(network.add_resource(BytesPerSecond{1e9 + 1e7 * static_cast<double>(i * 7919 % 13)}));
  auto const start = [&](std::size_t i) {
    auto const uses = std::vector<engine::Use>{{links[i], 1e9}, {links[i + 1], 1e9}};
    return network.start({}, {}, {uses, 0, {}});
  };
  auto running = std::vector<std::uint32_t>{};
  for (std::size_t i = 0; i < flows; ++i) running.push_back(start(i));
  auto changes = std::int64_t{0};
  auto const count = [&](std::uint32_t, Time) { ++changes; };
  network.settle({}, count);
  auto next = std::size_t{0};
  for (auto _ : state) {
    network.stop(running[next]);
    network.settle({}, count);
    running[next] = start(next);
    network.settle({}, count);
    next = (next + flows / 3 + 1) % flows;
  }
  benchmark::DoNotOptimize(changes);
  state.counters["time_per_flow"] = benchmark::Counter(
      2.0 * static_cast<double>(flows), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK(ring_on_flat_switch)->RangeMultiplier(4)->Range(64, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK(tree_on_flat_switch)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_on_nodes)->Arg(2)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(all_to_all_on_nodes)->Arg(2)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK(solve_chain)->RangeMultiplier(10)->Range(10, 100'000)->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();
