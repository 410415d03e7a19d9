#include <malloc.h>

#include <benchmark/benchmark.h>

#include "explore/sweep/workers.hpp"

/// What a point of a sweep costs us, from its number to its row, for LLaMA-2-7B and four sharded strategies on growing
/// clusters, and how two threads compare with one. Goals: 500 points a second a core folded; two cores 1.9 times one.
namespace {

using namespace twinstep;
using namespace twinstep::explore::sweep;

constexpr auto kPoints = std::int64_t{64};  ///< a measurement

Sweep const& the_sweep() {
  static auto const sweep = Sweep{TWINSTEP_SOURCE_FOLDER "/tests/bench/sweep.json"};
  return sweep;
}

void answer_points(benchmark::State& state, engine::RunOptions const& options, int jobs) {
  auto const evaluator = Evaluator{the_sweep(), options};
  auto answered = std::int64_t{0};
  for (auto _ : state) {
    auto const end = answered + kPoints;
    answer_all([&] { return answered < end ? std::optional{answered++ % the_sweep().points()} : std::nullopt; },
               evaluator, [](Answer const& answer) { benchmark::DoNotOptimize(answer); }, jobs);
  }
  state.counters["points_per_second"] = benchmark::Counter(static_cast<double>(answered), benchmark::Counter::kIsRate);
}

void folded(benchmark::State& state) {
  answer_points(state, {}, static_cast<int>(state.range(0)));
}

void folded_without_allocator(benchmark::State& state) {
  answer_points(state, {.replays_allocator = false}, static_cast<int>(state.range(0)));
}

void closed_without_allocator(benchmark::State& state) {
  answer_points(state, {.fidelity = engine::Fidelity::kClosed, .replays_allocator = false},
                static_cast<int>(state.range(0)));
}

}  // namespace

BENCHMARK(folded)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(folded_without_allocator)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(closed_without_allocator)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// As in the program: memory that a point gives back is there for the next.
int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
