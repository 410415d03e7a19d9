#include "hw_profiles/reader.hpp"
#include "sim/collectives/benchmark.hpp"
#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using Kind = CollectiveKind;

namespace {

/// Measured at 16 ranks on 2 nodes: a ring takes 1.2 times its cost at 1 MiB and 1.44 times at 4 MiB.
hardware::CollectiveCalibration measured() {
  auto calibration = hardware::CollectiveCalibration{};
  calibration.collective = CollectiveKind::kAllReduce;
  calibration.ranks = 16;
  calibration.nodes = 2;
  calibration.smallest = 1_MiB;
  calibration.largest = 4_MiB;
  calibration.corrections = {{Algorithm::kRing, Protocol::kSimple, {1_MiB, 4_MiB}, {1.2, 1.44}}};
  for (auto& band : calibration.errors) band = {{0.9, {}, "test"}, {1.1, {}, "test"}};
  return calibration;
}

hardware::Library library() {
  auto result = hardware::Library{};
  result.calibrations = {measured()};
  for (auto& band : result.errors) band = {{0.5, {}, "test"}, {2, {}, "test"}};
  return result;
}

double factor(Sweep const& asked, Bytes size, Protocol protocol = Protocol::kSimple) {
  return correction_of(library(), asked, size, Algorithm::kRing, protocol);
}

}  // namespace

TEST_CASE("a correction is straight over logarithms between its sizes and stays beyond them", "[correction]") {
  auto const here = Sweep{Kind::kAllReduce, 16, 2};
  CHECK(factor(here, 1_MiB) == Approx(1.2));
  CHECK(factor(here, 2_MiB) == Approx(1.2 * std::sqrt(1.2)));  // half way from 1.2 to 1.2^2
  CHECK(factor(here, 8_B) == Approx(1.2));
  CHECK(factor(here, 16_GiB) == Approx(1.44));
}

TEST_CASE("half of a correction is left for each doubling of ranks and of nodes", "[correction]") {
  CHECK(factor({Kind::kAllReduce, 32, 2}, 1_MiB) == Approx(std::pow(1.2, 0.5)));
  CHECK(factor({Kind::kAllReduce, 32, 4}, 1_MiB) == Approx(std::pow(1.2, 0.25)));
  CHECK(factor({Kind::kAllReduce, 8, 1}, 1_MiB) == Approx(std::pow(1.2, 0.25)));
  CHECK(factor({Kind::kAllGather, 16, 2}, 1_MiB) == 1);
  CHECK(factor({Kind::kAllReduce, 16, 2}, 1_MiB, Protocol::kLl) == 1);  // not measured
}

TEST_CASE("a corrected collective takes so much longer, by the way that the costs alone choose", "[correction]") {
  auto cluster = hw_profiles::read_cluster(std::string{"dgx-a100-hdr"});
  cluster.library.choice = hardware::Choice::kFastest;
  auto const topology = topology::Topology{cluster};
  auto const layout = layout_of(16, cluster.node().gpus);
  auto const question = Question{Kind::kAllReduce, 4_MiB, program::Reduction::kSum, DataType::kFp32, {}};
  auto const chooser = Chooser{layout, cluster, topology};
  auto const way = chooser.choose(question);
  auto const before = time_alone(chooser.fold(question), topology);

  auto its = measured();
  its.corrections = {{way.algorithm, way.protocol, {4_MiB}, {3}}};
  cluster.library.calibrations = {its};
  CHECK(chooser.choose(question).algorithm == way.algorithm);
  CHECK(chooser.choose(question).protocol == way.protocol);
  auto const after = time_alone(chooser.fold(question), topology);
  CHECK(to_seconds(after) / to_seconds(before) == Approx(3).epsilon(1e-3));
}

TEST_CASE("an interval is the calibration's where it measured, and the constants' elsewhere", "[correction]") {
  auto const high = [](Sweep const& sweep, Bytes size) {
    return to_seconds(interval_of(Duration{1'000'000}, sweep, size, library())->second).count() * 1e6;
  };
  CHECK(high({Kind::kAllReduce, 16, 2}, 2_MiB) == Approx(1.1));
  CHECK(high({Kind::kAllReduce, 16, 2}, 8_MiB) == Approx(2));  // larger than what was measured
  CHECK(high({Kind::kAllReduce, 32, 4}, 2_MiB) == Approx(2));
}
