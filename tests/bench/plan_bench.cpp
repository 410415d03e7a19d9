#include <algorithm>
#include <malloc.h>
#include <oneapi/tbb/global_control.h>

#include <benchmark/benchmark.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/question.hpp"
#include "explore/plan/search.hpp"

/// What a plan costs us for LLaMA-3.1-70B on 64 DGX H100. Goals: 20,000 configurations bounded a second
/// and core, 500 folded simulations a second and core of a 32-layer model.
namespace {

using namespace twinstep;
using namespace twinstep::explore;

plan::Setup setup_of(std::string const& scenario, std::vector<std::string> const& settings) {
  auto const question = question_of(io::parse_file(std::string{TWINSTEP_SOURCE_FOLDER} + "/examples/" + scenario),
                                    io::read_changes("--set", settings));
  auto const one_sequence = question.with("training.micro_batch", io::value_node(std::int64_t{1}));
  return {read_scenarios(question).front(), one_sequence.changed().at("training"), {}};
}

void bounds(benchmark::State& state) {
  auto const one_core = oneapi::tbb::global_control{oneapi::tbb::global_control::max_allowed_parallelism, 1};
  auto const question = setup_of("llama-3.1-70b-64xh100.json", {});
  auto configurations = std::size_t{0};
  for (auto _ : state) {
    auto const space = plan::bound_all(question);
    configurations = space.candidates.size() + space.too_large.size();
    benchmark::DoNotOptimize(space);
  }
  state.counters["configurations"] = static_cast<double>(configurations);
  state.counters["configurations_per_s"] =
      benchmark::Counter(static_cast<double>(configurations), benchmark::Counter::kIsIterationInvariantRate);
}

void folded(benchmark::State& state) {
  auto const question = setup_of("llama-2-7b-4xh100.json", {"strategy={\"name\": \"zero-2\"}"});
  for (auto _ : state) benchmark::DoNotOptimize(run_step(question.scenario, {}, Checks::kNone));
  state.counters["simulations_per_s"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

BENCHMARK(bounds)->Unit(benchmark::kMillisecond);
BENCHMARK(folded)->Unit(benchmark::kMillisecond);

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
