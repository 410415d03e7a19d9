#include "sim/io/timeline_json.hpp"

#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::timeline;
using program::MemoryCategory;
using program::MemorySpace;
using program::WorkKind;

namespace {

/// Two tracks: rank 0, which stands for 32, with a product and a collective; and rank 32 with its host.
Timeline two_tracks() {
  auto timeline = Timeline{};
  timeline.manifest = {.version = "0.1.0",
                       .clock = Clock::kVirtual,
                       .scenario = "a \"small\" one",
                       .calibration = "uncalibrated: datasheet and default constants",
                       .program_hash = "1f",
                       .machine_hash = "2e",
                       .world_size = 33,
                       .tokens = 8,
                       .model_flops = Flops{1.5e15},
                       .hardware_flops = Flops{2e15},
                       .peak = FlopsPerSecond{989.4e12},
                       .memory_capacity = 80_GB};
  timeline.names = {"product", "layer.0", "reduce", "wait"};
  timeline.tracks = {{"stage0", RankId{0}, 32, {"compute", "comm"}}, {"stage1", RankId{32}, 1, {"compute"}}};
  timeline.tracks[0].allocator = {.segments = 12, .retries = 3};
  timeline.spans = {
      {TrackId{0},
       StreamId{0},
       OpId{0},
       NameId{0},
       NameId{1},
       WorkKind::kGemm,
       {},
       0_ps,
       5_us,
       5_us,
       1234567_ps + 5_us},
      {TrackId{0}, StreamId{1}, OpId{1}, NameId{2}, NameId{1}, WorkKind::kAllReduce, 64_B, 1_us, 2_us, 3_us, 9_us},
      {TrackId{1}, {}, OpId{0}, NameId{3}, {}, WorkKind::kHost, {}, 0_ps, 0_ps, 0_ps, 9_us}};
  timeline.memory = {{TrackId{0}, 0_ps, MemoryCategory::kParameters, MemorySpace::kDevice, 1_KB},
                     {TrackId{0}, 1_us, MemoryCategory::kActivations, MemorySpace::kDevice, 100_B},
                     {TrackId{0}, 1_us, MemoryCategory::kActivations, MemorySpace::kHost, 7_B},
                     {TrackId{0}, 2_us, MemoryCategory::kActivations, MemorySpace::kDevice, Bytes{-100}}};
  timeline.links = {{"nvlink", false, 4096_B, 32, 450_GBps}, {"nic", true, 0_B, 1, {}}};
  timeline.wire = {100_B, 200_B};
  timeline.step_time = 9_us;
  timeline.events = 17;
  return timeline;
}

io::Node parse(std::string text) {
  return io::parse({"step.trace.json", std::move(text)});
}
Timeline read(std::string text) {
  return io::read_timeline(parse(std::move(text)));
}

std::string replace(std::string text, std::string_view from, std::string_view to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// The mark of a step, which is no span.
bool is_mark(io::Node const& event) {
  auto const category = event.find("cat");
  return category && category->string() == "user_annotation";
}

/// The events of one phase.
std::vector<io::Node> events(io::Node const& document, std::string_view phase) {
  auto out = std::vector<io::Node>{};
  for (auto const& event : document.at("traceEvents").elements())
    if (event.at("ph").string() == phase && !is_mark(event)) out.push_back(event);
  return out;
}

}  // namespace

TEST_CASE("a timeline comes back from its trace as it was", "[io][timeline_json]") {
  CHECK(read(io::to_json(two_tracks())) == two_tracks());
  auto empty = Timeline{};
  CHECK(read(io::to_json(empty)) == empty);
}

TEST_CASE("the trace of two small tracks reads as it is kept", "[io][timeline_json]") {
  auto file = std::ifstream{TWINSTEP_GOLDEN "/two_tracks.timeline.json"};
  auto const kept = std::string{std::istreambuf_iterator<char>{file}, {}};
  CHECK(io::to_json(two_tracks()) == kept);
}

TEST_CASE("a span is a complete event on its track and stream", "[io][timeline_json]") {
  auto const document = parse(io::to_json(two_tracks()));
  auto const spans = events(document, "X");
  REQUIRE(spans.size() == 3);
  // Start 5 us, end 6,234,567 ps: 1,234 whole nanoseconds, shown one short; track 0 is process 1; stream 0 is thread 2.
  CHECK(spans[0].at("ts").number() == 5.0);
  CHECK(spans[0].at("dur").number() == 1.233);
  CHECK(spans[0].at("args").at("end_ps").integer() == 6'234'567);
  CHECK(spans[0].at("pid").integer() == 1);
  CHECK(spans[0].at("tid").integer() == 2);
  CHECK(spans[0].at("cat").string() == "kernel");
  CHECK(spans[0].at("args").at("kind").string() == "gemm");
  CHECK(spans[0].at("args").at("scope").string() == "layer.0");
  // The collective arrives at 2 us and starts at 3 us, when the others have come too.
  CHECK(spans[1].at("ts").number() == 3.0);
  CHECK(spans[1].at("args").at("arrive_ps").integer() == 2'000'000);
  CHECK(spans[1].at("args").at("In msg nelems").integer() == 64);
  CHECK(spans[1].at("args").at("dtype").string() == "Byte");
  CHECK(spans[1].at("args").at("Collective name").string() == "allreduce");
  // The host is thread 1.
  CHECK(spans[2].at("pid").integer() == 2);
  CHECK(spans[2].at("tid").integer() == 1);
}

TEST_CASE("spans that touch do not overlap when a viewer adds start and length in doubles", "[io][timeline_json]") {
  auto timeline =
      timeline::Timeline{.names = {"kernel"}, .tracks = {{.role = "rank", .rank = RankId{0}, .streams = {"compute"}}}};
  auto now = Time{};
  for (int i = 0; i < 1000; ++i) {
    auto const end = now + Duration{123'456'789 + 7919 * i};
    timeline.spans.push_back({.track = timeline::TrackId{0},
                              .stream = StreamId{0},
                              .op = OpId{static_cast<std::size_t>(i)},
                              .name = NameId{0},
                              .issue = now,
                              .arrive = now,
                              .start = now,
                              .end = end});
    now = end;
  }
  timeline.step_time = now;
  auto end = 0.0;
  for (auto const& event : events(parse(io::to_json(timeline)), "X")) {
    CHECK(event.at("ts").number() >= end);
    end = event.at("ts").number() + event.at("dur").number();
  }
}

TEST_CASE("tracks and streams have names, and the host comes first", "[io][timeline_json]") {
  auto const text = io::to_json(two_tracks());
  CHECK_THAT(text, Catch::Contains(R"x("pid": 1, "name": "process_name", "args": {"name": "rank 0 (of 32 alike)"})x"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 2, "name": "process_name", "args": {"name": "rank 32"})"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "host"})"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "comm"})"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 1, "tid": 3, "name": "thread_sort_index", "args": {"sort_index": 3})"));
}

TEST_CASE("memory counters show what is held after each moment", "[io][timeline_json]") {
  auto const counters = events(parse(io::to_json(two_tracks())), "C");
  // Three moments, device and host each: 1000 B of parameters; then 100 B of activations and 7 B on the host; then 0.
  REQUIRE(counters.size() == 6);
  CHECK(counters[0].at("name").string() == "device memory");
  CHECK(counters[0].at("args").at("parameters").integer() == 1000);
  CHECK(counters[0].at("args").at("activations").integer() == 0);
  CHECK(counters[2].at("args").at("activations").integer() == 100);
  CHECK(counters[3].at("name").string() == "host memory");
  CHECK(counters[3].at("args").at("activations").integer() == 7);
  CHECK(counters[4].at("ts").number() == 2.0);
  CHECK(counters[4].at("args").at("activations").integer() == 0);
}

TEST_CASE("a trace that is no timeline of ours is refused with the way out", "[io][timeline_json]") {
  auto const text = io::to_json(two_tracks());
  auto const complaint = [](std::string broken) -> std::string {
    try {
      static_cast<void>(read(std::move(broken)));
    } catch (InputError const& error) {
      return error.what();
    }
    return "no complaint";
  };
  CHECK_THAT(complaint(R"({"traceEvents": []})"), Catch::Contains("found no \"twinstep\""));
  CHECK_THAT(complaint(replace(text, "\"name\": \"wait\", \"pid\": 2, \"tid\": 1",
                               "\"name\": \"wait\", \"pid\": 3, \"tid\": 1")),
             Catch::Contains("/pid: found 3, expected one of the 2 tracks; count from 1"));
  CHECK_THAT(complaint(replace(text, "\"name\": \"wait\", \"pid\": 2, \"tid\": 1",
                               "\"name\": \"wait\", \"pid\": 2, \"tid\": 3")),
             Catch::Contains("/tid: found thread 3, expected the host's 1 or one of 1 streams"));
  CHECK_THAT(complaint(replace(text, "\"end_ps\": 9000000", "\"end_ps\": 1000000")),
             Catch::Contains("start 3000000, end 1000000, expected them in this order"));
  CHECK_THAT(complaint(replace(text, "\"kind\": \"gemm\"", "\"kind\": \"gem\"")), Catch::Contains("\"gemm\""));
  CHECK_THAT(complaint(replace(text, "\"multiplicity\": 32", "\"multiplicity\": 0")), Catch::Contains("/multiplicity"));
}

TEST_CASE("each track's step is marked as PyTorch's profiler does", "[io][timeline_json]") {
  auto marks = 0;
  for (auto const& event : parse(io::to_json(two_tracks())).at("traceEvents").elements()) {
    if (!is_mark(event)) continue;
    ++marks;
    CHECK(event.at("name").string() == "ProfilerStep#0");
    CHECK(event.at("pid").integer() == marks);
    CHECK(event.at("dur").number() * 1e6 == Approx(two_tracks().step_time.count()));
  }
  CHECK(marks == 2);
}

TEST_CASE("a gather's bytes come out and a reduce_scatter's go in", "[io][timeline_json]") {
  auto timeline = two_tracks();
  auto const args = [&](WorkKind kind) {
    timeline.spans[1].kind = kind;
    return events(parse(io::to_json(timeline)), "X").at(1).at("args");
  };
  CHECK_FALSE(args(WorkKind::kAllGather).has("In msg nelems"));
  CHECK(args(WorkKind::kAllGather).at("Out msg nelems").integer() == 64);
  CHECK_FALSE(args(WorkKind::kReduceScatter).has("Out msg nelems"));
  CHECK(args(WorkKind::kReduceScatter).at("Collective name").string() == "_reduce_scatter_base");
  CHECK(read(io::to_json(timeline)) == timeline);
}
