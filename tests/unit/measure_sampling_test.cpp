#include "sim/base/input_error.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "sim/program/checks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/executors.hpp"
#include "tests/support/four_ranks.hpp"
#include "validate/measure/collective_sweep.hpp"
#include "validate/measure/kernels.hpp"
#include "validate/measure/step_runs.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::measure;
using tests::ClockedExecutor;

namespace {

/// An executor on the virtual clock.
ClockedExecutor on(hardware::Cluster const& cluster) {
  auto const machine = std::make_shared<engine::Machine>(cluster);
  return {cluster.gpus(), [machine](program::StepProgram const& program) {
            program::check(program);
            return engine::run(program, *machine);
          }};
}

/// A clock that advances by a second at each look.
std::function<Seconds()> ticking() {
  return [now = 0.0]() mutable { return Seconds{now += 1}; };
}

std::vector<SweepRow> rows_of(Executor& executor, CollectiveSweep const& sweep) {
  auto rows = std::vector<SweepRow>{};
  sweep_collective(executor, sweep, [&](SweepRow const& row) { rows.push_back(row); });
  return rows;
}

}  // namespace

TEST_CASE("measuring on the virtual clock gives what the model says", "[measure][sampling]") {
  // Two ranks on a switch of 1 GB/s, 10 us a step. all_reduce of 1 MB on a ring: 2 steps of 500 kB, 2 (10 us + 500 us).
  auto executor = on(tests::flat_cluster(2, 1_GBps, 10_us));
  auto const rows = rows_of(executor, {.exchange = {}, .smallest = 1_MB, .largest = 1_MB, .sampling = {}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].size == 1_MB);
  CHECK(rows[0].count == 250'000);
  CHECK(rows[0].out_of_place.time.median == 1020_us);
  CHECK(rows[0].out_of_place.time.high == 1020_us);
  CHECK(rows[0].in_place->time.median == 1020_us);
}

TEST_CASE("neighbours that send and receive take no longer than two messages", "[measure][sampling]") {
  auto executor = on(tests::flat_cluster(2, 1_GBps, 10_us));
  auto const rows =
      rows_of(executor, {.exchange = {.kind = std::nullopt}, .smallest = 1_MB, .largest = 1_MB, .sampling = {}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].out_of_place.time.median >= 1010_us);  // 10 us and 1 MB at 1 GB/s
  CHECK(rows[0].out_of_place.time.median <= 2020_us);
  CHECK_FALSE(rows[0].in_place);
}

TEST_CASE("all programs that a sweep runs are sound, for every collective", "[measure][sampling]") {
  for (auto const name : all_names<CollectiveKind>()) {
    INFO(name);
    auto executor = on(tests::flat_cluster(3, 1_GBps, 10_us));
    auto const exchange = Exchange{.kind = find_enum<CollectiveKind>(name)};
    auto const rows =
        rows_of(executor, {.exchange = exchange, .smallest = 64_B, .largest = 4_KiB, .factor = 8, .sampling = {}});
    CHECK(rows.size() == 3);  // 64, 512, 4096
    for (auto const& row : rows) CHECK(row.out_of_place.time.median >= 10_us);
  }
}

TEST_CASE("sizes are cut to shares of 16 bytes, and those too small are left out", "[measure][sampling]") {
  // 64 B over 3 ranks: 16 fp32, 5 a rank, 4 of them whole shares.
  CHECK(elements_for(64_B, {.kind = CollectiveKind::kAllGather}, 3) == 12);
  CHECK(elements_for(16_B, {.kind = CollectiveKind::kAllGather}, 3) == 0);
  CHECK(elements_for(64_B, {.kind = CollectiveKind::kAllGather, .type = DataType::kFp64}, 3) == 6);
  CHECK(elements_for(20_B, {.kind = CollectiveKind::kAllReduce}, 3) == 5);
}

TEST_CASE("two collectives at once share the link", "[measure][sampling]") {
  // Both need the port for their whole time but for the latency: 2 (10 us + 500 us) alone. Together each gets half.
  auto executor = on(tests::flat_cluster(2, 1_GBps, 10_us));
  auto const exchange = Workload{Exchange{.elements = 250'000}};
  auto const [a, b] = measure_beside(executor, exchange, exchange, {});
  CHECK(a.alone.median == 1020_us);
  CHECK(b.alone.median == 1020_us);
  CHECK(a.slowdown() == Approx(2020.0 / 1020).epsilon(0.02));
  CHECK(b.slowdown() == Approx(2020.0 / 1020).epsilon(0.02));
}

TEST_CASE("batches go on until the median is known, or the time is over", "[measure][sampling]") {
  // A machine that takes 100 us and 200 us in turn: the median's interval never narrows.
  auto cluster = tests::flat_cluster(2, 1_GBps, 10_us);
  auto steady = on(cluster);
  auto const work = Workload{Exchange{.elements = 1000}};
  auto const sampling = Sampling{.max_time = Seconds{20}, .clock = ticking()};
  CHECK(sample(steady, std::span{&work, 1}, sampling).front().each.samples == 6);  // the fewest that have an interval

  auto run = 0;
  auto restless = ClockedExecutor{2, [&run, machine = engine::Machine{cluster}](program::StepProgram const& program) {
                                    auto timeline = engine::run(program, machine);
                                    if (++run % 2 == 0)
                                      for (auto& span : timeline.spans) {
                                        span.arrive *= 2;
                                        span.end *= 2;
                                      }
                                    return timeline;
                                  }};
  auto const late = Sampling{.max_time = Seconds{20}, .clock = ticking()};
  auto const spread = sample(restless, std::span{&work, 1}, late).front().each;
  CHECK(spread.samples == 20);  // the clock says 1 at the start and one more after each batch
  CHECK_FALSE(find_doubts(spread, late).empty());
}

TEST_CASE("a batch has as many repetitions as a tenth of the time allows", "[measure][sampling]") {
  auto executor = on(tests::flat_cluster(2, 1_GBps, 10_us));
  auto const work = Workload{Exchange{.elements = 250'000}};  // 1020 us
  auto const iterations = [&](Seconds time) {
    return sample(executor, std::span{&work, 1}, {.max_time = time, .clock = ticking()}).front().iterations;
  };
  CHECK(iterations(Seconds{60}) == 20);
  CHECK(iterations(Seconds{0.05}) == 4);  // 5 ms / 1.02 ms
  CHECK(iterations(Seconds{0.001}) == 1);
}

TEST_CASE("a GEMM takes its time on the roofline, and its launches the host's", "[measure][kernels]") {
  // 2 * 1000^3 FLOP at 1e14 FLOP/s: 20 us. The host issues a kernel every 4 us.
  auto cluster = tests::flat_cluster(1, 1_GBps, 10_us);
  cluster.node().host.launch.value = 4_us;
  auto executor = on(cluster);
  auto points = std::vector<KernelPoint>{};
  auto const works =
      std::vector<Workload>{program::Gemm{1000, 1000, 1000, 1, DataType::kFp32}, empty_kernel(DataType::kFp32)};
  measure_kernels(executor, works, {}, {}, {[&](KernelPoint const& point) { points.push_back(point); }, {}});
  REQUIRE(points.size() == 2);
  CHECK(points[0].alone.each.median == 20_us);
  CHECK(points[1].alone.issue.median == 4_us);
}

TEST_CASE("what grows too slow is left out from there on", "[measure][kernels]") {
  auto executor = on(tests::flat_cluster(1, 1_GBps, 10_us));
  auto measured = std::vector<std::string>{};
  auto left_out = std::vector<std::string>{};
  auto const works = std::vector<Workload>{program::Gemm{100, 100, 100, 1, DataType::kFp32},
                                           program::Gemm{1000, 1000, 1000, 1, DataType::kFp32},
                                           program::Gemm{2000, 1000, 1000, 1, DataType::kFp32}};
  measure_kernels(executor, works, {}, {.max_time = Seconds{50e-6}, .clock = ticking()},
                  {[&](KernelPoint const& point) { measured.push_back(describe(point.work)); },
                   [&](std::string const& sentence) { left_out.push_back(sentence); }});
  // The second one takes 20 us, more than a quarter of 50 us.
  CHECK(measured == std::vector<std::string>{"gemm 100 x 100 x 100 fp32", "gemm 1000 x 1000 x 1000 fp32"});
  REQUIRE(left_out.size() == 1);
  CHECK_THAT(left_out[0], Catch::Contains("larger than gemm 1000 x 1000 x 1000 fp32"));
}

TEST_CASE("what a backend does not do is left out in one line, and the rest goes on", "[measure][kernels]") {
  class WithoutAttention : public ClockedExecutor {
   public:
    using ClockedExecutor::ClockedExecutor;
    void require_supported(program::StepProgram const& program) const override {
      for (auto const& op : program.roles[0].operations)
        if (std::holds_alternative<program::Attention>(op.work)) throw InputError{"no attention here"};
    }
  };
  auto const machine = engine::Machine{tests::flat_cluster(1, 1_GBps, 10_us)};
  auto executor =
      WithoutAttention{1, [&](program::StepProgram const& program) { return engine::run(program, machine); }};
  auto works = default_attentions(DataType::kFp32);
  works.emplace_back(program::Gemm{100, 100, 100, 1, DataType::kFp32});
  auto measured = std::vector<std::string>{};
  auto left_out = std::vector<std::string>{};
  measure_kernels(executor, works, {}, {},
                  {[&](KernelPoint const& point) { measured.push_back(describe(point.work)); },
                   [&](std::string const& sentence) { left_out.push_back(sentence); }});
  CHECK(measured == std::vector<std::string>{"gemm 100 x 100 x 100 fp32"});
  REQUIRE(left_out.size() == 1);
  CHECK_THAT(left_out[0], Catch::Contains("attention 1 x 16 heads") && Catch::Contains("no attention here"));
}

TEST_CASE("the median step is one that was run", "[measure][step]") {
  auto run = std::int64_t{0};
  auto executor = ClockedExecutor{4, [&run](program::StepProgram const&) {
                                    static constexpr std::int64_t kTimes[] = {90, 12, 10, 11, 50};
                                    auto timeline = timeline::Timeline{};
                                    timeline.step_time = Duration{kTimes[run++] * 1'000'000'000};
                                    return timeline;
                                  }};
  auto const runs = run_steps(executor, tests::four_ranks(), 4, 1);
  CHECK(runs.times == std::vector{12_ms, 10_ms, 11_ms, 50_ms});  // the first one warmed up
  CHECK(runs.time.median == Duration{11'500'000'000});
  CHECK(runs.median.step_time == 11_ms);
}

TEST_CASE("emulated kernels take the time that they are predicted to take", "[measure][step]") {
  auto cluster = tests::flat_cluster(4, 1_GBps, 10_us);
  cluster.node().gpu.kernel_start.value = 2_us;
  auto const step = tests::four_ranks();
  auto const emulated = with_delays(step, cluster.node().gpu);
  program::check(emulated);
  auto kernels = 0;
  for (auto const& op : emulated.roles[0].operations) {
    CHECK_FALSE(std::holds_alternative<program::Gemm>(op.work));
    CHECK_FALSE(std::holds_alternative<program::Elementwise>(op.work));
    kernels += std::holds_alternative<program::Delay>(op.work) && !op.is_on_host() ? 1 : 0;
  }
  CHECK(kernels == 3);  // load, multiply, differentiate
  auto const machine = engine::Machine{cluster};
  CHECK(engine::run(emulated, machine).step_time == engine::run(step, machine).step_time);
}
