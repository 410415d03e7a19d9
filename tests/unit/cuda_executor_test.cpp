#include "validate/cuda/cuda_executor.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/fake_cuda/fake_device.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/timeline_checks.hpp"
#include "validate/cuda/elements.hpp"
#include "validate/cuda/hygiene.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using program::Reduction;
using tests::FakeDevice;
using Values = std::vector<double>;

namespace {

/// Everything that a step on devices that are not there needs.
struct FakeJob {
  explicit FakeJob(program::StepProgram const& program, program::Initialiser initialise = {})
      : world{static_cast<int>(program.grids.world_size())},
        device{world},
        connection{cuda::connect(device, {.world = world, .local_ranks = world}, {})},
        environment{device, connection.ranks, std::move(initialise)},
        executor{device, connection} {}

  int world;
  FakeDevice device;
  cuda::Connection connection;
  cuda::Environment environment;
  cuda::Executor executor;
};

Values result(program::StepProgram const& program, std::string_view buffer, std::string_view scope = "") {
  auto job = FakeJob{program};
  static_cast<void>(job.executor.run(program, job.environment));
  return job.environment.read(RankId{0}, buffer, scope);
}

/// Rank r begins with r + 1 in every element.
void count_from_one(program::FreshBuffer const& buffer, std::span<double> values) {
  std::ranges::fill(values, static_cast<double>(buffer.rank.index() + 1));
}

/// "main" fills a and multiplies it with itself into c; "side" waits for the fill and doubles a into b; the host waits
/// for that; then "main" fills d.
program::StepProgram hand_written() {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const main = role.stream("main");
  auto const side = role.stream("side");
  auto const a = small.persistent(role, "a", 4);
  auto const b = small.persistent(role, "b", 4);
  auto const c = small.persistent(role, "c", 4);
  auto const d = small.persistent(role, "d", 4);
  auto const filled = small.fill(role, main, "fill", a, 3);
  role.wait(side, filled);
  auto const doubled = small.scale(role, side, "double", a, b, 2);
  role.add(main, small.builder.name("square"), program::Gemm{.m = 2, .n = 2, .k = 2, .type = DataType::kFp32},
           {program::reads(role.whole(a)), program::reads(role.whole(a)), program::writes(role.whole(c))});
  role.host(small.builder.name("look"), std::array{doubled});
  small.fill(role, main, "again", d, 1);
  return std::move(small.builder).finish();
}

}  // namespace

TEST_CASE("each operation is enqueued on its stream, behind the events of what it waits for", "[cuda]") {
  auto job = FakeJob{hand_written()};
  static_cast<void>(job.executor.run(hand_written(), job.environment));
  auto const& log = job.device.log(0);
  // Stream 0 carries the barrier, 1 is "main", 2 is "side". Event 0 is time zero; the operations on streams have events
  // 1 and 2 (fill), 3 and 4 (double), 5 and 6 (square), 7 and 8 (again).
  auto const barrier = std::ranges::find(log, "stream 0: all_reduce");
  REQUIRE(barrier != log.end());
  CHECK(std::vector(barrier, log.end()) ==
        std::vector<std::string>{"stream 0: all_reduce", "stream 0: record event 0", "stream 1: wait for event 0",
                                 "stream 2: wait for event 0", "stream 1: record event 1", "stream 1: compute fill",
                                 "stream 1: record event 2", "stream 2: wait for event 2", "stream 2: record event 3",
                                 "stream 2: compute scale", "stream 2: record event 4", "stream 1: record event 5",
                                 "stream 1: multiply", "stream 1: record event 6", "stream 1: record event 7",
                                 "stream 1: compute fill", "stream 1: record event 8"});
}

TEST_CASE("spans are counted from the barrier, and the host's operation begins when what it waits for has ended",
          "[cuda]") {
  auto job = FakeJob{hand_written()};
  auto const timeline = job.executor.run(hand_written(), job.environment);
  REQUIRE(timeline.spans.size() == 5);
  // Every kernel of the fake takes 1 us. fill: [0, 1]; double, on the other stream, and square: [1, 2]; the host sees
  // the end of double at 2 us, so the last fill takes [2, 3].
  auto const at = [&](std::size_t i) { return std::pair{timeline.spans[i].arrive, timeline.spans[i].end}; };
  CHECK(at(0) == std::pair{0_us, 1_us});
  CHECK(at(1) == std::pair{1_us, 2_us});
  CHECK(at(2) == std::pair{1_us, 2_us});
  CHECK(at(3) == std::pair{2_us, 2_us});
  CHECK(at(4) == std::pair{2_us, 3_us});
  CHECK(timeline.spans[4].issue == 2_us);
  CHECK(timeline.step_time == 3_us);
}

TEST_CASE("an operation sees the results of what it waits for on another stream, on a device", "[cuda]") {
  // a = 3, b = 2a = 6, c = a + b.
  CHECK(result(tests::two_streams_with_waits(), "c") == Values(1000, 9));
}

TEST_CASE("stages of a pipeline exchange activations and gradients in order, on devices", "[cuda]") {
  // The first stage sends 1 and then 2; the second returns ten times what came.
  CHECK(result(tests::pipeline_of_two_stages(), "gradient", "batch.0") == Values(12, 10));
  CHECK(result(tests::pipeline_of_two_stages(), "gradient", "batch.1") == Values(12, 20));
}

TEST_CASE("what was never written reads as NaN on a device too", "[cuda]") {
  auto small = tests::SmallProgram{1};
  auto& role = small.builder.role("worker");
  auto const never_written = small.temporary(role, "never_written", 1);
  auto const out = small.persistent(role, "out", 1);
  small.scale(role, role.stream("main"), "use", never_written, out);
  CHECK(std::isnan(result(std::move(small.builder).finish(), "out")[0]));
}

TEST_CASE("every collective does what it means, cut evenly or not, in every type", "[cuda][collectives]") {
  // Rank r sends r + 1; three ranks. Sums are 6, averages 2, the greatest 3, the least 1.
  for (auto const type : {DataType::kFp64, DataType::kFp32, DataType::kBf16, DataType::kFp16})
    for (std::int64_t const elements : {12, 13, 2}) {
      auto const run = [&](CollectiveKind kind, Reduction reduction, std::int64_t root) {
        INFO(name_of(kind) << " of " << elements << " " << name_of(type));
        auto const program = tests::one_collective(kind, 3, elements, root, reduction, type);
        auto job = FakeJob{program, count_from_one};
        static_cast<void>(job.executor.run(program, job.environment));
        auto received = std::vector<Values>{};
        for (std::size_t rank = 0; rank < 3; ++rank)
          received.push_back(job.environment.read(RankId{rank}, "received", ""));
        return received;
      };
      auto const part = [&](std::int64_t place) {
        return static_cast<std::size_t>(chunk_begin(elements, 3, place + 1) - chunk_begin(elements, 3, place));
      };
      auto const all = static_cast<std::size_t>(elements);
      auto by_part = Values{};
      for (std::int64_t place = 0; place < 3; ++place) by_part.insert(by_part.end(), part(place), double(place + 1));
      CHECK(run(CollectiveKind::kAllReduce, Reduction::kSum, 0)[1] == Values(all, 6));
      CHECK(run(CollectiveKind::kAllReduce, Reduction::kAverage, 0)[0] == Values(all, 2));
      CHECK(run(CollectiveKind::kAllReduce, Reduction::kMax, 0)[2] == Values(all, 3));
      CHECK(run(CollectiveKind::kAllReduce, Reduction::kMin, 0)[2] == Values(all, 1));
      CHECK(run(CollectiveKind::kAllGather, Reduction::kSum, 0)[2] == by_part);
      CHECK(run(CollectiveKind::kReduceScatter, Reduction::kSum, 0)[1] == Values(part(1), 6));
      CHECK(run(CollectiveKind::kBroadcast, Reduction::kSum, 1)[2] == Values(all, 2));
      CHECK(run(CollectiveKind::kReduce, Reduction::kSum, 2)[2] == Values(all, 6));
      CHECK(run(CollectiveKind::kGather, Reduction::kSum, 1)[1] == by_part);
      CHECK(run(CollectiveKind::kScatter, Reduction::kSum, 2)[0] == Values(part(0), 3));
      auto exchanged = Values{};
      for (int rank = 0; rank < 3; ++rank) exchanged.insert(exchanged.end(), part(2), double(rank + 1));
      CHECK(run(CollectiveKind::kAllToAll, Reduction::kSum, 0)[2] == exchanged);
    }
}

TEST_CASE("processes with a rank each run one program together, and the first gets all spans", "[cuda]") {
  auto const program = tests::groups_in_a_ring(3);
  auto device = FakeDevice{3};
  auto const id = device.make_meeting_id();
  auto timelines = std::vector<timeline::Timeline>(3);
  auto sums = std::vector<std::int64_t>(3);
  {
    auto processes = std::vector<std::jthread>{};
    for (int rank = 0; rank < 3; ++rank)
      processes.emplace_back([&, rank] {
        auto connection =
            cuda::connect(device, {.world = 3, .local_ranks = 1, .first_rank = rank, .first_device = rank}, id);
        auto environment = cuda::Environment{device, connection.ranks};
        auto executor = cuda::Executor{device, connection};
        timelines[static_cast<std::size_t>(rank)] = executor.run(program, environment);
        sums[static_cast<std::size_t>(rank)] = executor.sum(rank + 10);
      });
  }
  CHECK(tests::find_violations(program, timelines[0]) == std::vector<std::string>{});
  CHECK(timelines[1].spans.empty());
  CHECK(timelines[2].manifest.world_size == 3);
  CHECK(sums == std::vector<std::int64_t>{33, 33, 33});  // 10 + 11 + 12
}

TEST_CASE("the same step takes the same memory, streams and communicators again", "[cuda]") {
  auto const program = tests::two_communicators_on_a_mesh();
  auto job = FakeJob{program, count_from_one};
  auto const first = job.executor.run(program, job.environment);
  auto const allocations = job.device.live_allocations();
  CHECK(job.executor.run(program, job.environment) == first);
  CHECK(job.device.live_allocations() == allocations);
  CHECK(job.environment.steps() == 2);
}

TEST_CASE("elements are rounded to nearest, ties to even", "[cuda]") {
  auto const through = [](double value, DataType type) {
    auto raw = std::array<std::byte, 8>{};
    cuda::encode(std::span{&value, 1}, type, raw.data());
    auto back = 0.0;
    cuda::decode(raw.data(), type, std::span{&back, 1});
    return back;
  };
  // bf16 has 8 significant bits: around 1 it counts in steps of 2^-7, and 1 + 2^-8 lies half way to an even neighbour.
  CHECK(through(1 + 0x1p-8, DataType::kBf16) == 1);
  CHECK(through(1 + 3 * 0x1p-8, DataType::kBf16) == 1 + 0x1p-6);
  CHECK(std::isinf(through(3.4e38 * 2, DataType::kBf16)));
  // fp16 has 11: 2048 + 1 lies half way, 65504 is the greatest, 2^-24 the least.
  CHECK(through(2049, DataType::kFp16) == 2048);
  CHECK(through(2051, DataType::kFp16) == 2052);
  CHECK(through(65504, DataType::kFp16) == 65504);
  CHECK(std::isinf(through(65520, DataType::kFp16)));
  CHECK(through(-0x1p-24, DataType::kFp16) == -0x1p-24);
  CHECK(through(0x1p-26, DataType::kFp16) == 0);
  CHECK(through(1023.5 * 0x1p-24, DataType::kFp16) == 0x1p-14);  // half way from the subnormals to the normal ones
  for (auto const type : {DataType::kBf16, DataType::kFp16}) CHECK(std::isnan(through(std::nan(""), type)));
}

TEST_CASE("a GPU that was held back, or whose clock fell, makes a measurement doubtful", "[cuda]") {
  auto device = FakeDevice{2};
  auto const ranks = cuda::Ranks{.world = 2, .local_ranks = 2};
  CHECK(cuda::read_health(device, ranks).empty());  // nothing is known, nothing is said
  device.set_health(0, {.multiprocessor_clock_mhz = 1980});
  device.set_health(1, {.multiprocessor_clock_mhz = 1980});
  auto const before = cuda::read_health(device, ranks);
  CHECK(cuda::find_doubts(before, before).empty());
  device.set_health(0, {.multiprocessor_clock_mhz = 1900, .throttled_by = {"power cap"}});
  device.set_health(1, {.multiprocessor_clock_mhz = 1500});
  CHECK(cuda::find_doubts(before, cuda::read_health(device, ranks)) ==
        std::vector<std::string>{"GPU 0 was held back by power cap", "the clock of GPU 1 fell from 1980 to 1500 MHz"});
}
