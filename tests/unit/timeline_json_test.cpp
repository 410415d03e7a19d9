#include "sim/io/timeline_json.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <tuple>

#include "tests/support/catch.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/trace_import.hpp"

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
  timeline.scopes = {{NameId{1}, program::Pass::kForward, 2}};
  timeline.tracks = {{"stage0", RankId{0}, 32, {"compute", "comm"}}, {"stage1", RankId{32}, 1, {"compute"}}};
  timeline.tracks[0].allocator = {.segments = 12, .retries = 3};
  timeline.spans = {{TrackId{0},
                     StreamId{0},
                     OpId{0},
                     NameId{0},
                     program::ScopeId{0},
                     WorkKind::kGemm,
                     {},
                     0_ps,
                     5_us,
                     5_us,
                     1234567_ps + 5_us},
                    {TrackId{0}, StreamId{1}, OpId{1}, NameId{2}, program::ScopeId{0}, WorkKind::kAllReduce, 64_B, 1_us,
                     2_us, 3_us, 9_us},
                    {TrackId{1}, {}, OpId{0}, NameId{3}, {}, WorkKind::kHost, {}, 0_ps, 0_ps, 0_ps, 9_us}};
  timeline.memory = {{TrackId{0}, 0_ps, MemoryCategory::kParameters, MemorySpace::kDevice, 1_KB},
                     {TrackId{0}, 1_us, MemoryCategory::kActivations, MemorySpace::kDevice, 100_B},
                     {TrackId{0}, 1_us, MemoryCategory::kActivations, MemorySpace::kHost, 7_B},
                     {TrackId{0}, 2_us, MemoryCategory::kActivations, MemorySpace::kDevice, Bytes{-100}}};
  timeline.links = {{"nvlink", false, 4096_B, 32, 450_GBps}, {"nic", true, 0_B, 1, {}}};
  timeline.traffic = {{TrackId{0}, 3_us, 9_us, {100_B, 0_B}}, {TrackId{0}, 4_us, 9_us, {0_B, 200_B}}};
  timeline.wire = {100_B, 200_B};
  timeline.step_time = 9_us;
  timeline.events = 17;
  return timeline;
}

io::Node parse(std::string text) {
  return io::parse({"step.trace.json", std::move(text)});
}
Timeline timeline_in(std::string text) {
  return io::read_timeline(parse(std::move(text)));
}

/// The mark of a step, which is no span.
bool is_mark(io::Node const& event) {
  auto const category = event.find("cat");
  return category && category->string() == "user_annotation";
}

bool is_launch(io::Node const& event) {
  auto const category = event.find("cat");
  return category && category->string() == "cuda_runtime";
}

/// The events of one phase; of the complete ones, those that are spans.
std::vector<io::Node> events(io::Node const& document, std::string_view phase) {
  auto out = std::vector<io::Node>{};
  for (auto const& event : document.at("traceEvents").elements())
    if (event.at("ph").string() == phase && !is_mark(event) && !is_launch(event)) out.push_back(event);
  return out;
}

/// The counter events of one name.
std::vector<io::Node> counters(io::Node const& document, std::string_view ending) {
  auto out = events(document, "C");
  std::erase_if(out, [&](io::Node const& event) { return !event.at("name").string().ends_with(ending); });
  return out;
}

/// Where an event stands: row and moment.
std::tuple<std::int64_t, std::int64_t, double> place(io::Node const& event) {
  return {event.at("pid").integer(), event.at("tid").integer(), event.at("ts").number()};
}

}  // namespace

TEST_CASE("a timeline comes back from its trace as it was", "[io][timeline_json]") {
  CHECK(timeline_in(io::to_json(two_tracks())) == two_tracks());
  auto empty = Timeline{};
  CHECK(timeline_in(io::to_json(empty)) == empty);
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
  CHECK(spans[0].at("args").at("scope").string() == "layer.0.forward");
  CHECK(spans[0].at("args").at("unit").string() == "layer.0");
  CHECK(spans[0].at("args").at("pass").string() == "forward");
  CHECK(spans[0].at("args").at("micro_batch").integer() == 2);
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
  CHECK_THAT(
      text, Catch::Contains(R"x("pid": 1, "name": "process_name", "args": {"name": "rank 0 (of 32 alike), stage0"})x"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 2, "name": "process_name", "args": {"name": "rank 32, stage1"})"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "host"})"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "comm"})"));
  CHECK_THAT(text, Catch::Contains(R"("pid": 1, "tid": 3, "name": "thread_sort_index", "args": {"sort_index": 3})"));
}

TEST_CASE("memory counters show what is held after each moment", "[io][timeline_json]") {
  auto const counters = ::counters(parse(io::to_json(two_tracks())), "memory");
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

TEST_CASE("an arrow goes from where the host issued a communication to where it starts", "[io][timeline_json]") {
  auto timeline = two_tracks();
  timeline.spans.push_back(timeline.spans[1]);  // another one, later: two arrows with names of their own
  timeline.spans.back().issue = timeline.spans.back().arrive = timeline.spans.back().start = timeline.spans.back().end;
  auto const document = parse(io::to_json(timeline));
  auto const starts = events(document, "s");
  auto const ends = events(document, "f");
  REQUIRE(starts.size() == 2);  // of the product and of the host's wait there is none
  REQUIRE(ends.size() == 2);
  CHECK(starts[0].at("id").integer() != starts[1].at("id").integer());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(starts[i].at("id").integer() == ends[i].at("id").integer());
    CHECK(starts[i].at("cat").string() == ends[i].at("cat").string());
    CHECK(starts[i].at("name").string() == ends[i].at("name").string());
    CHECK(ends[i].at("bp").string() == "e");
  }
  CHECK(place(starts[0]) == std::tuple{1, 1, 1.0});  // the host's row, at 1 us
  CHECK(place(ends[0]) == std::tuple{1, 3, 3.0});    // stream 1 is thread 3, at 3 us
  CHECK(place(starts[1]) == std::tuple{1, 1, 9.0});
  CHECK(timeline_in(io::to_json(timeline)) == timeline);
}

TEST_CASE("a viewer drops nothing of a trace, and binds arrows to launches and communications", "[io][timeline_json]") {
  auto timeline = two_tracks();
  auto const only = [](timeline::Timeline const& shown) {
    auto const imported = tests::import_trace(parse(io::to_json(shown)));
    CHECK(imported.complaints == std::vector<std::string>{});
    return imported.arrows;
  };
  CHECK(only(timeline) == std::vector<tests::Arrow>{{"issue", "reduce"}});
  // A communication that starts at the very moment of its issue, one within a nanosecond, and one that takes no time.
  auto& reduce = timeline.spans[1];
  reduce.issue = reduce.arrive = reduce.start;
  CHECK(only(timeline) == std::vector<tests::Arrow>{{"issue", "reduce"}});
  reduce.end = reduce.start + 600_ps;
  CHECK(only(timeline) == std::vector<tests::Arrow>{{"issue", "reduce"}});
  reduce.end = reduce.start;
  CHECK(only(timeline) == std::vector<tests::Arrow>{{"issue", "reduce"}});
}

TEST_CASE("spans of one stream that overlap are what a viewer complains of", "[io][timeline_json]") {
  auto timeline = two_tracks();
  timeline.spans.push_back(timeline.spans[1]);
  auto& other = timeline.spans.back();
  other.issue = other.arrive = other.start = 5_us;
  other.end = 11_us;
  auto const imported = tests::import_trace(parse(io::to_json(timeline)));
  REQUIRE(imported.complaints.size() == 1);
  CHECK_THAT(imported.complaints.front(), Catch::Contains("at 5000 ns overlaps \"reduce\""));
}

TEST_CASE("counters show what one rank of a track sends, and only where it changes", "[io][timeline_json]") {
  // 32 ranks together send 12 MB inside nodes from 3 us to 9 us: 62.5 GB/s each. Between nodes nothing until 5 us, then
  // 640 KB until 7 us and as much again until 9 us: 10 GB/s each.
  auto timeline = two_tracks();
  timeline.traffic = {{TrackId{0}, 3_us, 9_us, {12_MB, 0_B}},
                      {TrackId{0}, 5_us, 7_us, {0_B, 640_KB}},
                      {TrackId{0}, 7_us, 9_us, {0_B, 640_KB}}};
  auto const document = parse(io::to_json(timeline));
  auto const shown = [&](std::string_view name) {
    auto out = std::vector<std::pair<double, double>>{};
    for (auto const& event : counters(document, name)) {
      CHECK(event.at("pid").integer() == 1);
      out.emplace_back(event.at("ts").number(), event.at("args").at("GB/s").number());
    }
    return out;
  };
  using Steps = std::vector<std::pair<double, double>>;
  CHECK(shown("sent inside the node") == Steps{{3, 62.5}, {9, 0}});
  CHECK(shown("sent over NICs") == Steps{{5, 10}, {9, 0}});
}

TEST_CASE("traffic that is on its way together is added, track by track", "[io][link_rates]") {
  // Two ranks together: 20 KB from 0 to 10 us, 1 GB/s each; 16 KB from 5 to 9 us, 2 GB/s; 20 KB from 9 to 19 us.
  auto timeline = Timeline{.tracks = {{.role = "a"}, {.role = "b", .multiplicity = 2}}};
  timeline.traffic = {{TrackId{0}, 1_us, 2_us, {1_KB, 0_B}},
                      {TrackId{1}, 0_us, 10_us, {20_KB, 0_B}},
                      {TrackId{1}, 5_us, 9_us, {16_KB, 0_B}},
                      {TrackId{1}, 9_us, 19_us, {20_KB, 0_B}}};
  auto rates = std::vector<std::tuple<std::size_t, Time, long>>{};  // MB/s
  for (auto const& moment : io::link_rates(timeline)) {
    CHECK(moment.inter == 0);
    rates.emplace_back(moment.track.index(), moment.time, std::lround(moment.intra / 1e6));
  }
  CHECK(rates == std::vector<std::tuple<std::size_t, Time, long>>{{0, 1_us, 1000},
                                                                  {0, 2_us, 0},
                                                                  {1, 0_us, 1000},
                                                                  {1, 5_us, 3000},
                                                                  {1, 9_us, 2000},
                                                                  {1, 10_us, 1000},
                                                                  {1, 19_us, 0}});
}

TEST_CASE("a trace that is no timeline of ours is refused with the way out", "[io][timeline_json]") {
  auto const text = io::to_json(two_tracks());
  auto const complaint = [](std::string broken) -> std::string {
    try {
      static_cast<void>(timeline_in(std::move(broken)));
    } catch (InputError const& error) {
      return error.what();
    }
    return "no complaint";
  };
  CHECK_THAT(complaint(R"({"traceEvents": []})"), Catch::Contains("found no \"twinstep\""));
  CHECK_THAT(complaint(tests::changed(text, "\"name\": \"wait\", \"pid\": 2, \"tid\": 1",
                                      "\"name\": \"wait\", \"pid\": 3, \"tid\": 1")),
             Catch::Contains("/pid: found 3, expected one of the 2 tracks; count from 1"));
  CHECK_THAT(complaint(tests::changed(text, "\"name\": \"wait\", \"pid\": 2, \"tid\": 1",
                                      "\"name\": \"wait\", \"pid\": 2, \"tid\": 3")),
             Catch::Contains("/tid: found thread 3, expected the host's 1 or one of 1 streams"));
  CHECK_THAT(complaint(tests::changed(text, "\"end_ps\": 9000000", "\"end_ps\": 1000000")),
             Catch::Contains("start 3000000, end 1000000, expected them in this order"));
  CHECK_THAT(complaint(tests::changed(text, "\"kind\": \"gemm\"", "\"kind\": \"gem\"")), Catch::Contains("\"gemm\""));
  CHECK_THAT(complaint(tests::changed(text, "\"multiplicity\": 32", "\"multiplicity\": 0")),
             Catch::Contains("/multiplicity"));
  CHECK_THAT(complaint(tests::changed(text, "[0, 4000000, 9000000, 0, 200]", "[0, 4000000, 4000000, 0, 200]")),
             Catch::Contains("/traffic/1: found the begin 4000000 and the end 4000000, expected them in this order"));
  CHECK_THAT(complaint(tests::changed(text, "[0, 4000000, 9000000, 0, 200]", "[2, 4000000, 9000000, 0, 200]")),
             Catch::Contains("/traffic/1/0: found 2, expected one of the 2 tracks"));
  CHECK_THAT(complaint(tests::changed(text, "[0, 4000000, 9000000, 0, 200]", "[0, 4000000]")),
             Catch::Contains("/traffic/1: found 2 fields"));
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

TEST_CASE("a trace without fields of unit and pass has them from its scopes", "[io][timeline_json]") {
  auto text = io::to_json(two_tracks());
  auto const fields = std::string{R"("unit": "layer.0", "pass": "forward", "micro_batch": 2)"};
  for (auto at = text.find(fields + ", "); at != text.npos; at = text.find(fields + ", "))
    text.erase(at, fields.size() + 2);
  text = tests::changed(text, "\"scopes\": [\n{" + fields + "}],\n", "");
  auto const timeline = timeline_in(text);
  CHECK(timeline.pass_of(timeline.spans[0]) == program::Pass::kForward);
  CHECK(timeline.text(timeline.spans[0].scope) == "layer.0.forward");
  CHECK(timeline.scopes.at(0).micro_batch == program::Scope::kNoMicroBatch);
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
  CHECK(timeline_in(io::to_json(timeline)) == timeline);
}
