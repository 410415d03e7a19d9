#include "validate/records/kineto.hpp"

#include <algorithm>
#include <random>

#include "sim/base/input_error.hpp"
#include "sim/io/timeline_json.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::records;
using program::WorkKind;

// Names, categories and arguments of the traces are those of pytorch/kineto: libkineto/src/output_json.cpp,
// CuptiActivity.cpp and ActivityType.cpp.

namespace {

KinetoTrace kineto_fixture(std::string const& name) {
  return read_kineto_trace(io::parse_file(TWINSTEP_FIXTURES "/kineto/" + name));
}

KinetoTrace read(std::string const& text) {
  return read_kineto_trace(io::parse({"trace.json", text}));
}

timeline::Span const& span_named(timeline::Timeline const& timeline, std::string_view part) {
  auto const found = std::ranges::find_if(timeline.spans, [&](timeline::Span const& span) {
    return timeline.text(span.name).find(part) != std::string_view::npos;
  });
  REQUIRE(found != timeline.spans.end());
  return *found;
}

std::string complaint(std::string const& text) {
  try {
    static_cast<void>(kineto_timeline({read(text)}));
  } catch (InputError const& error) {
    return error.what();
  }
  return "no complaint";
}

/// A trace with one event.
std::string with_event(std::string const& event) {
  return R"({"traceEvents": [)" + event + "]}";
}

}  // namespace

TEST_CASE("a kernel belongs to the step in which the host launched it", "[records][kineto]") {
  auto const timeline = kineto_timeline({kineto_fixture("rank0.json")}, 2);
  // The elementwise kernel runs from 2050 us on, within ProfilerStep#2, but was launched at 1900 us.
  for (auto const& span : timeline.spans)
    CHECK(timeline.text(span.name).find("vectorized_elementwise") == std::string_view::npos);
  // It ends at 2100 us: only then has the GPU begun with step 2. The product starts 20.5 us later.
  auto const& product = span_named(timeline, "nvjet");
  CHECK(product.kind == WorkKind::kGemm);
  CHECK(product.start == 20_us + Duration{500'000});
  CHECK(product.end == 420_us + Duration{500'000});
  CHECK(product.issue == 0_ps);  // launched at 2020 us, before the step begins on the GPU
  // The copy of the fill ends the step: 2750.5 us.
  CHECK(timeline.step_time == 650_us + Duration{500'000});
}

TEST_CASE("a step of a trace says what ran on which stream", "[records][kineto]") {
  auto const timeline = kineto_timeline({kineto_fixture("rank0.json")}, 2);
  CHECK(timeline.manifest.clock == timeline::Clock::kReal);
  CHECK(timeline.manifest.world_size == 2);
  CHECK(timeline.manifest.memory_capacity == Bytes{85520809984});
  REQUIRE(timeline.tracks.size() == 1);
  CHECK(timeline.tracks[0].streams ==
        std::vector<std::string>{"stream 7", "stream 20", "host thread 9", "host thread 11"});
  auto const& reduce = span_named(timeline, "AllReduce");
  CHECK(reduce.kind == WorkKind::kAllReduce);
  CHECK(reduce.bytes == 512_KiB);  // 262144 elements of 2 bytes
  CHECK(reduce.stream == StreamId{1});
  CHECK(reduce.issue == 10_us);                       // 2110 us: launched before it could run
  CHECK(reduce.start == 320_us + Duration{500'000});  // 2420.5 us
  CHECK(reduce.end - reduce.arrive == 300_us);
  auto const& copy = span_named(timeline, "Memcpy");
  CHECK(copy.kind == WorkKind::kCopy);
  CHECK(copy.bytes == 4096_B);
  CHECK(span_named(timeline, "Memset").kind == WorkKind::kElementwise);
  // Of operators within each other the outermost one; it began at 2090 us, before the step does on the GPU.
  CHECK(span_named(timeline, "aten::linear").start == 0_ps);
  CHECK(span_named(timeline, "aten::linear").end == 30_us);
  CHECK(std::ranges::none_of(timeline.names, [](auto const& name) { return name == "aten::addmm"; }));
  CHECK(span_named(timeline, "record_param_comms").kind == WorkKind::kHost);
}

TEST_CASE("ranks are laid beside each other by the clock of their hosts", "[records][kineto]") {
  auto const timeline = kineto_timeline({kineto_fixture("rank0.json"), kineto_fixture("rank1.json")}, 2);
  REQUIRE(timeline.tracks.size() == 2);
  CHECK(timeline.tracks[1].rank == RankId{1});
  // Rank 1's clock begins 500 us later: its step 2 at 2020 us, before rank 0's GPU has ended step 1 at 2100 us. Its
  // kernel runs from 2520.5 us to 2720.5 us, where rank 0's ends too.
  auto const on_track = [&](std::size_t track) {
    return *std::ranges::find_if(timeline.spans, [&](timeline::Span const& span) {
      return span.track == timeline::TrackId{track} && span.kind == WorkKind::kAllReduce;
    });
  };
  CHECK(on_track(1).start == 500_us + Duration{500'000});
  CHECK(on_track(1).end == 700_us + Duration{500'000});
  CHECK(on_track(0).end == on_track(1).end);
  CHECK(on_track(0).start == 400_us + Duration{500'000});
}

TEST_CASE("steps that all ranks have are listed, and the median one is taken", "[records][kineto]") {
  auto const traces = std::vector{kineto_fixture("rank0.json"), kineto_fixture("rank1.json")};
  auto const steps = steps_of(traces);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].number == 2);
  CHECK(steps[0].shortest == 980_us);
  CHECK(steps[0].longest == 1000_us);
  CHECK(steps[1].longest == 1200_us);
  CHECK(kineto_timeline(traces).manifest.scenario == "measured by torch.profiler, step 2");
  CHECK(span_named(kineto_timeline({traces[0]}, 3), "ReduceScatter").bytes == 2_KiB);  // 512 elements of 4 bytes go in
  CHECK_THROWS_WITH(kineto_timeline(traces, 1),
                    Catch::Contains("found no ProfilerStep#1, expected one of 2, 3; call profiler.step()"));
  CHECK_THROWS_WITH(kineto_timeline({traces[0], traces[0]}, 2), Catch::Contains("found rank 0 a second time"));
}

TEST_CASE("kernels are known by their names", "[records][kineto]") {
  auto const kind = [](std::string_view name) { return kernel_kind(name, std::nullopt); };
  CHECK(kind("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)") == WorkKind::kAllGather);
  CHECK(kind("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)") == WorkKind::kAllReduce);
  CHECK(kind("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)") ==
        WorkKind::kReduceScatter);
  CHECK(kind("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)") == WorkKind::kPointToPoint);
  CHECK(kind("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)") == WorkKind::kGroup);
  CHECK(kind("void multimem_all_reduce_kernel<c10::BFloat16, 16>(…)") == WorkKind::kAllReduce);
  // c10d does all_to_all by sends and receives, and says so.
  CHECK(kernel_kind("ncclDevKernel_SendRecv(…)", "all_to_allv") == WorkKind::kAllToAll);
  CHECK(kernel_kind("ncclDevKernel_Generic(…)", "_allgather_base") == WorkKind::kAllGather);
  CHECK(kernel_kind("ncclDevKernel_SendRecv(…)", "send") == WorkKind::kPointToPoint);
  CHECK(kind("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64") == WorkKind::kGemm);
  CHECK(kind("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16>") == WorkKind::kGemm);
  CHECK(kind("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32") == WorkKind::kGemm);
  CHECK(kind("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>") == WorkKind::kAttention);
  CHECK(kind("void at::native::reduce_kernel<512, 1>()") == WorkKind::kElementwise);
}

TEST_CASE("traces of 2021 are read by their categories of then", "[records][kineto]") {
  auto const timeline = kineto_timeline({read(
      R"({"traceEvents": [
        {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 3, "tid": 3, "ts": 1620000000000000, "dur": 10, "args": {}},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 3, "tid": 3, "ts": 1620000000000004, "dur": 2,
         "args": {"correlation": 8}},
        {"ph": "X", "cat": "Kernel", "name": "volta_sgemm_128x64_nn", "pid": 0, "tid": "stream 7", "ts": 1620000000000020,
         "dur": 30, "args": {"device": 0, "stream": 7, "correlation": 8}}]})")});
  CHECK(timeline.step_time == 50_us);
  CHECK(span_named(timeline, "sgemm").issue == 4_us);
}

TEST_CASE("what is no trace is refused with its place and the way out", "[records][kineto]") {
  CHECK_THAT(complaint("{}"),
             Catch::Contains("expected a trace of torch.profiler") && Catch::Contains("export_chrome"));
  CHECK_THAT(complaint("[]"), Catch::Contains("traceEvents"));
  CHECK_THAT(complaint(R"({"name": "h100", "memory_capacity": "80 GB"})"), Catch::Contains("traceEvents"));
  CHECK_THAT(complaint(with_event("")), Catch::Contains("found no kernel"));
  CHECK_THAT(complaint(with_event(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": -5, "dur": 1})")),
             Catch::Contains("/traceEvents/0/ts: found -5 us"));
  CHECK_THAT(complaint(with_event(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 1e15})")),
             Catch::Contains("/traceEvents/0/dur: "));
  CHECK_THAT(complaint(with_event(R"({"ph": "X", "cat": "kernel", "ts": 5, "dur": 1})")), Catch::Contains("name"));
  CHECK_THAT(complaint(R"({"baseTimeNanoseconds": 9000000000000000000, "traceEvents": []})"),
             Catch::Contains("/baseTimeNanoseconds: found 9000000000000000000"));
  CHECK_THAT(complaint(R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 0, "dur": 1},
                                           {"ph": "X", "cat": "kernel", "name": "b", "ts": 3e15, "dur": 1}]})"),
             Catch::Contains("more than 106 days apart"));
}

TEST_CASE("a timeline of ours, read as a trace of the profiler, has the same spans", "[records][kineto][property]") {
  // Times are whole nanoseconds there, and lengths a nanosecond short.
  auto random = std::mt19937_64{17};
  auto const below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  for (auto round = 0; round < 50; ++round) {
    auto written = timeline::Timeline{};
    written.names = {"a", "b"};
    written.tracks = {{"rank", RankId{0}, 1, {"compute", "comm"}}};
    for (std::size_t i = 0; i < 20; ++i) {
      auto const kind = static_cast<WorkKind>(below(static_cast<std::int64_t>(WorkKind::kCopy) + 1));
      auto const start = Time{below(1'000'000'000)};
      auto const has_bytes = program::is_communication(kind) || kind == WorkKind::kCopy;
      written.spans.push_back({.track = timeline::TrackId{0},
                               .stream = StreamId{static_cast<std::size_t>(below(2))},
                               .op = OpId{i},
                               .name = NameId{static_cast<std::size_t>(below(2))},
                               .scope = {},
                               .kind = kind,
                               .bytes = has_bytes ? Bytes{below(1'000'000)} : Bytes{},
                               .issue = start,
                               .arrive = start,
                               .start = start,
                               .end = start + Duration{2'000 + below(1'000'000'000)}});
      written.step_time = std::max(written.step_time, written.spans.back().end);
    }
    auto const document = io::parse({"ours.json", io::to_json(written)});
    CHECK(io::read_timeline(document) == written);
    auto const imported = kineto_timeline({read_kineto_trace(document)});
    REQUIRE(imported.spans.size() == written.spans.size());
    auto order = written.spans;
    std::ranges::stable_sort(order, {}, [](timeline::Span const& span) {
      return std::tuple{span.start.count() / 1000, span.stream.index()};
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto const& one = imported.spans[i];
      CHECK(one.kind == order[i].kind);
      CHECK(one.bytes == order[i].bytes);
      CHECK(imported.text(one.name) == written.text(order[i].name));
      CHECK(imported.tracks[0].streams[one.stream.index()] == "stream " + std::to_string(order[i].stream.index()));
      CHECK(std::abs((one.start - order[i].start).count()) < 1000);
      CHECK(std::abs((one.end - order[i].end).count()) < 3000);
    }
  }
}
