#include "validate/fit/collective_calibration.hpp"

#include <algorithm>
#include <cmath>

#include "hw_profiles/reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_text.hpp"
#include "validate/fit/cross_validation.hpp"
#include "validate/fit/error_bands.hpp"
#include "validate/fit/least_squares.hpp"
#include "validate/fit/system_calibration.hpp"

using namespace twinstep;
using namespace twinstep::validate;
using namespace twinstep::literals;
using hardware::Cluster;

namespace {

Cluster shipped() {
  return hw_profiles::read_cluster(std::string{"dgx-h100-ndr"});
}

/// Sizes from `first` to `last`, each twice the one before.
std::vector<Bytes> doubling(Bytes first, Bytes last) {
  auto sizes = std::vector<Bytes>{};
  for (auto size = first; size <= last; size = size * 2) sizes.push_back(size);
  return sizes;
}

/// What a machine would show: the times of our own model on it, times `deviation`.
CollectiveRecord measured_on(
    Cluster const& truth, MeasuredKind kind, std::int64_t ranks, std::vector<Bytes> const& sizes,
    std::function<double(Bytes)> const& deviation = [](Bytes) { return 1.0; }) {
  auto record = CollectiveRecord{};
  record.id = "synthetic";
  record.system = "synthetic";
  record.kind = kind;
  record.ranks = ranks;
  record.library = "nccl";
  record.health = "healthy";
  auto const one = CollectiveCase{record, truth};
  for (auto const size : sizes)
    record.points.push_back({.size = size, .time = one.predict(size).time * deviation(size)});
  return record;
}

MakeCase on(Cluster const& cluster) {
  return [cluster](CollectiveRecord const& record) { return CollectiveCase{record, cluster}; };
}

SystemConstant const& constant(Calibration const& calibration, std::string_view path) {
  auto const found = std::ranges::find_if(calibration.constants,
                                          [&](SystemConstant const& each) { return each.constant->path == path; });
  REQUIRE(found != calibration.constants.end());
  return *found;
}

/// The largest |predicted / measured - 1| of a record on `cluster`.
double worst_error(CollectiveRecord const& record, Cluster const& cluster) {
  auto const one = CollectiveCase{record, cluster};
  auto worst = 0.0;
  for (auto const& point : record.points)
    worst = std::max(worst, std::abs(one.predict(point.size).time / point.time - 1));
  return worst;
}

constexpr auto kStep = "fabric.transport.step_latency";

}  // namespace

TEST_CASE("a calibration recovers the constants of the machine that made the measurements", "[calibration]") {
  auto truth = shipped();
  truth.fabric.transport.efficiency.value = 0.8;
  truth.fabric.transport.step_latency.value = Duration{9'000'000};  // 9 us
  // On one layout a longer step would look like a longer floor: two of them tell.
  auto const two_nodes = measured_on(truth, CollectiveKind::kAllGather, 16, doubling(8_B, 1_GiB));
  auto const four_nodes = measured_on(truth, CollectiveKind::kAllGather, 32, doubling(8_B, 1_GiB));
  auto const found = calibrate({two_nodes, four_nodes}, on(shipped()), Depth::kConstants);
  CHECK(constant(found, kNicEfficiency).value == Approx(0.8).epsilon(0.03));
  CHECK(constant(found, kStep).value == Approx(9).epsilon(0.15));
  CHECK(constant(found, kNicEfficiency).points > 5);
}

TEST_CASE("a constant that no measurement decides keeps the profile's value, and says so", "[calibration]") {
  auto truth = shipped();
  truth.fabric.transport.efficiency.value = 0.8;
  auto const small = measured_on(truth, CollectiveKind::kAllGather, 16, doubling(8_B, 4_KiB));
  auto const found = calibrate({small}, on(shipped()), Depth::kConstants);
  auto const& efficiency = constant(found, kNicEfficiency);
  CHECK_THAT(efficiency.left_out, Catch::Contains("do not determine it"));
  CHECK(efficiency.value == Approx(shipped().fabric.transport.efficiency.value));
}

TEST_CASE("one point far off does not carry a fit away", "[calibration]") {
  auto truth = shipped();
  truth.fabric.transport.efficiency.value = 0.8;
  auto record = measured_on(truth, CollectiveKind::kAllGather, 16, doubling(8_B, 1_GiB));
  record.points.back().time = record.points.back().time * 5;
  auto const found = calibrate({record}, on(shipped()), Depth::kCorrections);
  CHECK(constant(found, kNicEfficiency).value == Approx(0.8).epsilon(0.03));
  auto calibrated = shipped();
  apply_calibration(found, calibrated);
  record.points.pop_back();
  CHECK(worst_error(record, calibrated) < 0.05);
}

TEST_CASE("five points fit a floor and the efficiency of NICs", "[calibration]") {
  auto truth = shipped();
  truth.fabric.transport.efficiency.value = 0.85;
  truth.library.kernel_start.value = Duration{10'000'000};  // 10 us
  auto const sweep = measured_on(truth, CollectiveKind::kAllGather, 16, doubling(8_B, 4_GiB));
  auto five = sweep;
  five.points.clear();
  for (auto const i : five_points(sweep)) five.points.push_back(sweep.points[i]);
  REQUIRE(five.points.size() == 5);
  auto calibrated = shipped();
  apply_calibration(calibrate({five}, on(shipped()), Depth::kConstants), calibrated);
  CHECK(calibrated.fabric.transport.efficiency.value == Approx(0.85).epsilon(0.04));
  CHECK(worst_error(sweep, shipped()) > 0.15);
  CHECK(worst_error(sweep, calibrated) < 0.08);
}

TEST_CASE("what constants cannot say is corrected by size, and holds for sizes between", "[calibration]") {
  // A deviation that no constant makes: a wave of 20 % with a period of ten octaves.
  auto const wave = [](Bytes size) {
    return 1 + 0.2 * std::sin(std::log2(static_cast<double>(size.count())) * 2 * 3.14159265 / 10);
  };
  auto const record = measured_on(shipped(), CollectiveKind::kAllReduce, 16, doubling(8_B, 8_GiB), wave);
  auto calibrated = shipped();
  apply_calibration(calibrate({record}, on(shipped()), Depth::kCorrections), calibrated);
  CHECK(worst_error(record, calibrated) < 0.06);

  auto const held_out = hold_out_sizes({record}, on(shipped()));
  auto errors = 0.0;
  auto points = 0;
  for (std::size_t i = 0; i < record.points.size(); ++i) {
    if (!held_out.predicted[0][i]) continue;
    errors += std::abs(*held_out.predicted[0][i] / record.points[i].time - 1);
    ++points;
  }
  CHECK(points == 15);  // of 31 sizes, every second
  CHECK(errors / points < 0.05);
}

TEST_CASE("a calibrated profile is read back as it was written", "[calibration]") {
  auto const record =
      measured_on(shipped(), CollectiveKind::kAllReduce, 16, doubling(8_B, 1_GiB), [](Bytes) { return 1.1; });
  auto calibrated = shipped();
  apply_calibration(calibrate({record}, on(shipped()), Depth::kCorrections), calibrated);
  REQUIRE(calibrated.library.calibrations.size() == 1);
  auto const read = hw_profiles::read_cluster(io::parse({"file", tests::cluster_text(calibrated)}));
  CHECK(read.library.calibrations == calibrated.library.calibrations);
}

TEST_CASE("a pair with one GPU a node does not calibrate the NICs of eight", "[calibration]") {
  auto truth = shipped();
  truth.fabric.transport.lone_gpu_efficiency.value = 0.6;
  auto pair = measured_on(truth, CollectiveKind::kAllGather, 2, {});
  pair.cluster = io::parse({"facts", R"({"gpu": "h100-80g", "gpus_per_node": 1, "nodes": 2})"});
  auto const one = CollectiveCase{pair, truth};
  CHECK(one.layout().nodes() == 2);
  for (auto const size : doubling(8_B, 1_GiB)) pair.points.push_back({.size = size, .time = one.predict(size).time});
  auto const found = calibrate({pair}, on(shipped()), Depth::kConstants);
  CHECK_THAT(constant(found, kNicEfficiency).left_out, Catch::Contains("one GPU of each node"));
  CHECK(constant(found, "fabric.transport.lone_gpu_efficiency").value == Approx(0.6).epsilon(0.05));
}

TEST_CASE("a band holds nine tenths of the points", "[calibration][intervals]") {
  // Ten points, deviations of 1 to 10 %: by Hazen place 0.9 * 10 + 0.5 = 9.5, between 9 and 10 %; exp(0.095) = 1.100.
  auto points = std::vector<LeftOutPoint>{};
  for (auto i = 1; i <= 10; ++i) points.push_back({1_KiB, i % 2 == 0 ? i / 100.0 : -i / 100.0});
  auto const bands = symmetric_bands(points, "test");
  CHECK(bands[0].high.value == Approx(1.1));
  CHECK(bands[0].low.value == Approx(0.909));
  CHECK(bands[3].high.value == Approx(1.1));  // no point of its own: all of them
  // Three points are too few for one to lie outside: half as wide again; exp(0.15) = 1.162.
  auto const few = symmetric_bands(std::span{points}.subspan(7), "test");
  CHECK(few[0].high.value == Approx(1.162));
}

TEST_CASE("percentiles count a system with many points as one with few", "[calibration][intervals]") {
  // One system of 99 points at 0 and one of 1 point at 10 %: weights of 1/99 and 1, so half of the weight is at 10 %.
  auto points = std::vector<LeftOutPoint>(99, LeftOutPoint{1_KiB, 0, 1.0 / 99});
  points.push_back({1_KiB, 0.1, 1});
  CHECK(quantile_bands(points, "test")[0].high.value == Approx(1.105));
  points.back().weight = 1.0 / 99;
  CHECK(quantile_bands(points, "test")[0].high.value == Approx(1));
}

TEST_CASE("what residuals leave open is the spread of a variable", "[calibration][least-squares]") {
  // Four measurements of one number with a spread of 0.5 each leave 0.5 / sqrt(4); of a second, nothing but its prior.
  auto problem = LeastSquares{};
  auto const x = problem.add_variable(0, -10, 10);
  auto const y = problem.add_variable(0, -10, 10);
  for (auto i = 0; i < 4; ++i)
    problem.add_term({x}, 1, [](auto values, auto residuals, bool) { residuals[0] = (values[0] - 3) / 0.5; });
  problem.add_term({y}, 1, [](auto values, auto residuals, bool) { residuals[0] = values[0] / 0.7; });
  auto const values = problem.solve();
  CHECK(values[x] == Approx(3));
  CHECK(problem.spreads(values)[x] == Approx(0.25).epsilon(1e-3));
  CHECK(problem.spreads(values)[y] == Approx(0.7).epsilon(1e-3));
  problem.hold(y, 1);
  CHECK(problem.solve()[y] == 1);
  CHECK(problem.spreads(values)[y] == 0);
}
