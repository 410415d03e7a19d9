#include <malloc.h>

#include <benchmark/benchmark.h>

#include "sim/engine/virtual_executor.hpp"
#include "sim/program/checks.hpp"
#include "strategies/compile.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/plans.hpp"

/// What one step costs us, compiled and simulated, for each strategy and for growing numbers of replicas.
/// Goals on one core, whatever the number of ranks: 400 ns an operation; 2 ms for LLaMA-2-7B; 5 ms for LLaMA-2-70B by
/// FSDP2 with full recomputation.
namespace {

using namespace twinstep;

strategies::Plan plan_of(std::int64_t strategy, std::int64_t ranks) {
  return {.strategy = static_cast<strategies::StrategyName>(strategy),
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 1, .global_batch = ranks, .sequence_length = 4096}};
}

void report_operations(benchmark::State& state, std::size_t operations) {
  state.SetLabel(std::string{name_of(static_cast<strategies::StrategyName>(state.range(0)))});
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["time_per_operation"] = benchmark::Counter(
      static_cast<double>(operations), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void compile_step(benchmark::State& state) {
  auto const model = strategies::ModelSpec{tests::llama_2_7b()};
  auto const plan = plan_of(state.range(0), state.range(1));
  auto operations = std::size_t{0};
  for (auto _ : state) {
    auto const step = tests::compiled(model, plan);
    operations = step.roles.front().operations.size();
    benchmark::DoNotOptimize(step);
  }
  report_operations(state, operations);
}

/// What every program of a strategy goes through before it is run once.
void check_step(benchmark::State& state) {
  auto const step =
      tests::compiled(strategies::ModelSpec{tests::llama_2_7b()}, plan_of(state.range(0), state.range(1)));
  for (auto _ : state) program::check(step);
  report_operations(state, step.roles.front().operations.size());
}

void compile_and_simulate(benchmark::State& state) {
  auto const model = strategies::ModelSpec{tests::llama_2_7b()};
  auto const plan = plan_of(state.range(0), state.range(1));
  auto const machine = engine::Machine{tests::h100_like(state.range(1) / 8)};
  auto operations = std::size_t{0};
  for (auto _ : state) {
    auto const step = tests::compiled(model, plan);
    operations = step.roles.front().operations.size();
    auto const timeline = engine::run(step, machine);
    benchmark::DoNotOptimize(timeline);
  }
  report_operations(state, operations);
}

/// A compiled step alone: on the clock, with its memory; and with the caching allocator.
void simulate(benchmark::State& state) {
  auto const step = tests::compiled(strategies::ModelSpec{tests::llama_2_7b()}, plan_of(state.range(0), 64));
  auto const machine = engine::Machine{tests::h100_like(8)};
  for (auto _ : state) {
    auto const timeline = engine::run(step, machine, {.replays_allocator = state.range(1) != 0});
    benchmark::DoNotOptimize(timeline);
  }
  report_operations(state, step.roles.front().operations.size());
}

void fsdp2_of_70b(benchmark::State& state) {
  auto const model = strategies::ModelSpec{tests::llama_2_70b()};
  auto plan = plan_of(static_cast<std::int64_t>(strategies::StrategyName::kFsdp2), state.range(1));
  plan.kernels.recompute = strategies::Recompute::kFull;
  auto const machine = engine::Machine{tests::h100_like(state.range(1) / 8)};
  auto operations = std::size_t{0};
  for (auto _ : state) {
    auto const step = tests::compiled(model, plan);
    operations = step.roles.front().operations.size();
    auto const timeline = engine::run(step, machine, {.replays_allocator = state.range(2) != 0});
    benchmark::DoNotOptimize(timeline);
  }
  report_operations(state, operations);
}

/// GPT-3 on 1,024 GPUs: tensor 8, 8 stages of 1F1B, 16 data-parallel ranks, 48 micro-batches.
void mesh_of_175b(benchmark::State& state) {
  auto const model = strategies::ModelSpec{strategies::Transformer{.layers = 96,
                                                                   .hidden = 12288,
                                                                   .heads = 96,
                                                                   .kv_heads = 96,
                                                                   .head_size = 128,
                                                                   .ffn = 49152,
                                                                   .vocabulary = 50257,
                                                                   .positions = 2048,
                                                                   .max_sequence_length = 2048,
                                                                   .norm = strategies::Norm::kLayer,
                                                                   .gated_mlp = false,
                                                                   .fused_qkv = true}};
  auto plan = strategies::Plan{.strategy = strategies::StrategyName::kMegatron,
                               .batch = {.micro_batch = 1, .global_batch = 768, .sequence_length = 2048}};
  plan.parallel = {.data = 16, .tensor = 8, .sequence = true, .pipeline = {.stages = 8}};
  plan.parallel.pipeline.exchange = strategies::PipelineExchange::kBatched;
  auto const machine = engine::Machine{tests::h100_like(128)};
  auto operations = std::size_t{0};
  for (auto _ : state) {
    auto const step = tests::compiled(model, plan);
    operations = 0;
    for (auto const& role : step.roles) operations += role.operations.size();
    auto const timeline = engine::run(step, machine, {.replays_allocator = state.range(0) != 0});
    benchmark::DoNotOptimize(timeline);
  }
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["steps_per_s"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

BENCHMARK(mesh_of_175b)->ArgName("allocator")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(compile_step)->ArgsProduct({{0, 1, 2, 3, 4}, {32}})->Unit(benchmark::kMicrosecond);
BENCHMARK(check_step)
    ->ArgNames({"strategy", "ranks"})
    ->ArgsProduct({benchmark::CreateDenseRange(0, 10, 1), {8, 16384, 131072}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(compile_and_simulate)
    ->ArgNames({"strategy", "ranks"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {8, 64, 1024, 16384}})
    ->Unit(benchmark::kMicrosecond);

BENCHMARK(simulate)->ArgNames({"strategy", "allocator"})->ArgsProduct({{1, 4}, {0, 1}})->Unit(benchmark::kMicrosecond);
BENCHMARK(fsdp2_of_70b)
    ->ArgNames({"strategy", "ranks", "allocator"})
    ->ArgsProduct({{static_cast<std::int64_t>(twinstep::strategies::StrategyName::kFsdp2)}, {8, 16384}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

// Memory that a step gives back stays with the process, as in a sweep; otherwise a third of the time goes into page
// faults.
int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
