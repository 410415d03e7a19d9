#include <numeric>

#include "explore/ask/parallel.hpp"
#include "reports/pages/axes.hpp"
#include "reports/pages/sections.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::pages;
using namespace twinstep::explore;
using namespace twinstep::literals;

namespace {

/// A step of `count` kernels of `length`, one after another without a gap, on one stream.
timeline::Timeline kernels(std::int64_t count, Duration length) {
  auto timeline = timeline::Timeline{};
  timeline.names = {"gemm"};
  timeline.tracks = {{.role = "all", .rank = RankId{0}, .streams = {"compute"}}};
  for (auto i = std::int64_t{0}; i < count; ++i) {
    auto span = timeline::Span{.track = timeline::TrackId{0},
                               .stream = StreamId{0},
                               .op = OpId{static_cast<std::size_t>(i)},
                               .name = NameId{0},
                               .kind = program::WorkKind::kGemm};
    span.issue = span.arrive = span.start = length * i;
    span.end = length * (i + 1);
    timeline.spans.push_back(span);
  }
  timeline.step_time = length * count;
  return timeline;
}

}  // namespace

TEST_CASE("results of parallel work come in the order of their indices", "[report]") {
  auto const squares = map_indices(1000, [](std::size_t i) { return i * i; });
  for (std::size_t i = 0; i < squares.size(); ++i) CHECK(squares[i] == i * i);
}

TEST_CASE("of several failures in parallel the one with the lowest index is reported", "[report]") {
  auto const work = [](std::size_t i) {
    if (i % 7 == 3) throw InputError{std::to_string(i)};
  };
  CHECK_THROWS_WITH(for_each_index(100, work), "3");
}

TEST_CASE("a region grows while its name stays", "[report]") {
  auto regions = std::vector<reports::Mark>{};
  for (auto const& [at, name] : std::vector<std::pair<double, std::string>>{{1, "ll"}, {2, "ll"}, {4, "simple"}})
    add_to_regions(regions, at, name);
  CHECK(regions == std::vector<reports::Mark>{{1, 2, "ll"}, {4, 4, "simple"}});
}

TEST_CASE("a few spans are drawn one by one", "[report][streams]") {
  auto const chart = streams_chart(kernels(3, 10_us), "streams", "");
  REQUIRE(chart.series.size() == 1);
  CHECK(chart.series[0].name == "gemm");
  CHECK(chart.x.unit == "us");
  CHECK(chart.y.categories == std::vector<std::string>{"compute"});
  REQUIRE(chart.series[0].points.size() == 3);
  CHECK(chart.series[0].points[1].x == Approx(10));
  CHECK(chart.series[0].points[1].y == 0);
  CHECK(chart.series[0].x_ends[1] == Approx(20));
}

TEST_CASE("of very many spans those that an eye cannot part are drawn as one, and counted", "[report][streams]") {
  // 20,000 kernels of 1 us: a two-thousandth of the step is 10 us, so each bar takes kernels until it is that long.
  auto const chart = streams_chart(kernels(20'000, 1_us), "streams", "");
  auto const& series = chart.series.at(0);
  CHECK(series.points.size() <= 2'000);
  CHECK(series.points.front().x == 0);
  CHECK(series.x_ends.back() == Approx(20));  // ms
  CHECK_THAT(series.points.front().note, Catch::Contains("more"));
}

TEST_CASE("memory is drawn when the GPU comes to it, with the peak and how far the host is ahead", "[report][memory]") {
  // The host issues two kernels of 100 us within its first microsecond, allocates 1 GiB for each, and gives the second
  // one back when it has waited for both. The second GiB is drawn where the second kernel starts, 99 us later.
  auto timeline = kernels(2, 100_us);
  timeline.spans[1].issue = 1_us;
  auto const sample = [&](Time time, Bytes change) {
    timeline.memory.push_back({.track = timeline::TrackId{0},
                               .time = time,
                               .category = program::MemoryCategory::kActivations,
                               .space = program::MemorySpace::kDevice,
                               .change = change});
  };
  sample(0_us, 1_GiB);
  sample(1_us, 1_GiB);
  sample(150_us, -1_GiB);
  auto const chart = memory_over_time_chart(timeline, reports::summarize(timeline), "memory", "");
  CHECK_THAT(chart.text, Catch::Contains("here up to 99.00 us earlier"));
  REQUIRE(chart.x_marks.size() == 1);
  CHECK(chart.x_marks[0].at == Approx(100));
  CHECK(chart.x_marks[0].text == "peak: 2.0 GiB");
  auto const& points = chart.series.at(0).points;
  REQUIRE(points.size() == 4);
  CHECK(points[1].x == Approx(100));
  CHECK(points[1].y == Approx(2));
  CHECK(points[2].x == Approx(150));
  CHECK(points[2].y == Approx(1));
  CHECK(points[3].x == Approx(200));  // the end of the step
  CHECK(points[3].y == Approx(1));
}
