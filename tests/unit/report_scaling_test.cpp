#include "explore/scale/parameters.hpp"
#include "explore/scale/scaling.hpp"
#include "reports/pages/sections.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::pages;
using namespace twinstep::explore;

namespace {

/// One layer of 8192 × 8192 in fp32: 256 MiB of gradients, reduced by one all_reduce when the backward pass is over, so
/// that nothing hides it. Nodes have one GPU and one NIC behind an ideal switch; no rank is late.
constexpr auto kScenario = R"({
  "cluster": {"profile": "flat-switch", "nodes": 2, "stack": "none"},
  "model": {"family": "mlp", "widths": [8192, 8192]},
  "training": {"micro_batch": 8192, "global_batch": 16384, "precision": "fp32"},
  "strategy": {"name": "naive"}
})";
constexpr auto kGradients = 8192.0 * 8192 * 4;

Answered asked_with(std::vector<std::string> const& settings = {}) {
  auto question =
      without_answers(question_of(io::parse({"scenario.json", kScenario}), io::read_changes("--set", settings)));
  run_steps(question);
  return question;
}

std::vector<std::string> with_nics_of(std::string const& rate) {
  return {"cluster.node.nic=" + rate, "cluster.fabric.port=" + rate};
}

double seconds(ScalePoint const& point) {
  return to_seconds(point.summary.step_time).count();
}

/// A curve with nothing but efficiencies.
ScaleCurve curve_of(std::vector<double> const& efficiencies) {
  auto curve = ScaleCurve{};
  for (auto const efficiency : efficiencies) curve.points.push_back({.efficiency = efficiency});
  return curve;
}

Effect const& effect_of(std::vector<Effect> const& effects, std::string_view name) {
  auto const found = std::ranges::find(effects, name, [](Effect const& effect) { return effect.parameter.name; });
  REQUIRE(found != effects.end());
  return *found;
}

/// What the section about scaling is made of.
CloserLook look_at(Answered const& asked) {
  return {.question = asked,
          .without_communication = {},
          .why = {},
          .scaling = scaling_of(asked),
          .collectives = {},
          .effects = {},
          .buckets = {}};
}

}  // namespace

TEST_CASE("the knee is the first point below nine tenths of the start", "[report][scaling]") {
  CHECK(knee_of(curve_of({1, 0.95, 0.89, 0.95, 0.5})) == 2);
  CHECK(knee_of(curve_of({1, 0.9, 0.9})) == std::nullopt);
  CHECK(knee_of(curve_of({})) == std::nullopt);
}

TEST_CASE("weak scaling over slow NICs bends where the first all_reduce crosses them, and says so",
          "[report][scaling]") {
  // A ring moves 2 (n - 1) / n of the gradients over each NIC: at 5 GB/s 53.7 ms for two nodes, 80.5 ms for four. One
  // node has none of it, so that the efficiency of n is T1 / (T1 + W(n)).
  auto const asked = asked_with(with_nics_of("5 GB/s"));
  auto const curve = scale_curves(asked, Growth::kWeak, 4).front();
  REQUIRE(curve.points.size() == 3);
  auto const alone = seconds(curve.points[0]);
  auto const moved = kGradients / 5e9;
  CHECK(seconds(curve.points[1]) - alone == Approx(moved).epsilon(0.01));
  CHECK(seconds(curve.points[2]) - alone == Approx(1.5 * moved).epsilon(0.01));
  CHECK(curve.points[0].efficiency == 1);
  CHECK(curve.points[1].efficiency == Approx(alone / (alone + moved)).epsilon(0.01));

  // 2 × 3 × 8192³ operations at 67 TFLOP/s take 49 ms at least, some 70 ms as GEMMs run: less than nine tenths is left.
  REQUIRE(knee_of(curve) == 1);
  auto const loss = loss_at(asked, curve, 1);
  CHECK(loss.cause == "exposed all_reduce");
  CHECK(loss.share == Approx(1).margin(0.02));
  auto const busiest = std::ranges::max_element(curve.points[1].summary.links, {}, &reports::LinkUse::utilisation);
  CHECK(busiest->traffic.name == "nic");
  CHECK(busiest->utilisation == Approx(moved / (alone + moved)).epsilon(0.01));
  // A tenth faster takes an eleventh of the transfer away, at two nodes and not at one; faster GEMMs would only make
  // the transfer a larger part.
  REQUIRE(loss.levers.size() == 1);
  CHECK(loss.levers[0].parameter == "NIC rate, with its port");
  CHECK(loss.levers[0].gain == Approx((alone + moved) / (alone + moved * 10 / 11) - 1).epsilon(0.02));
}

TEST_CASE("weak scaling keeps the batch of a GPU, strong scaling the global batch", "[report][scaling]") {
  auto const asked = asked_with();
  auto const weak = scale_curves(asked, Growth::kWeak, 8).front();
  REQUIRE(weak.points.size() == 4);
  for (auto const& point : weak.points) CHECK(point.global_batch == 8192 * point.gpus);
  // Two micro-batches of 8192: one GPU takes both, two take one each, four have none to take.
  auto const strong = scale_curves(asked, Growth::kStrong, 8).front();
  REQUIRE(strong.points.size() == 2);
  for (auto const& point : strong.points) CHECK(point.global_batch == 16384);
  CHECK(strong.points.front().efficiency == 1);
  CHECK_FALSE(strong.end.empty());
}

TEST_CASE("a curve begins at the fewest nodes on which the step fits", "[report][scaling]") {
  // Of what zero-1 holds, 512 MiB of optimizer states on one node are 256 MiB on each of two. With a capacity between
  // the two needs, one node has too little.
  auto const strategy = std::string{R"(strategy={"name": "zero-1"})"};
  auto const roomy = scale_curves(asked_with({strategy}), Growth::kWeak, 4).front();
  REQUIRE(roomy.points.size() == 3);
  auto const one = roomy.points[0].summary.reserved_peak.total();
  auto const two = roomy.points[1].summary.reserved_peak.total();
  REQUIRE(two < one);
  auto const capacity = "cluster.gpu.memory_capacity=" + std::to_string((one + two).count() / 2) + " B";

  auto const tight = scale_curves(asked_with({strategy, capacity}), Growth::kWeak, 4).front();
  REQUIRE(tight.points.size() == 2);
  CHECK(tight.points.front().nodes == 2);
  CHECK(tight.points.front().efficiency == 1);
  CHECK(tight.points.back().efficiency == Approx(seconds(roomy.points[1]) / seconds(roomy.points[2])));
}

TEST_CASE("a step that fits nowhere has a curve all the same, which says so", "[report][scaling]") {
  auto const asked = asked_with({"cluster.gpu.memory_capacity=1 GB"});
  auto const curve = scale_curves(asked, Growth::kWeak, 2).front();
  REQUIRE(curve.points.size() == 2);
  CHECK(curve.points.front().nodes == 1);
  CHECK(scaling_section(look_at(asked)).charts.front().series.front().name == "naive (does not fit)");
}

TEST_CASE("a curve that loses nothing has no bend, no mark of one and no row about it", "[report][scaling]") {
  auto const section = scaling_section(look_at(asked_with({"network.free=true"})));
  REQUIRE(section.charts.front().id == "scaling-weak-efficiency");
  CHECK_THAT(section.charts.front().text, Catch::StartsWith("naive has no bend up to 1024 GPUs: 100.0 %"));
  for (auto const& chart : section.charts) CHECK(chart.x_marks.empty());
  for (auto const& table : section.tables) CHECK_THAT(table.title, !Catch::Contains("bends"));
}

TEST_CASE("a curve ends where the fabric is full", "[report][scaling]") {
  auto const asked = asked_with({"cluster.fabric.levels.0.nodes=4"});
  auto const curve = scale_curves(asked, Growth::kWeak, 16).front();
  CHECK(curve.points.back().nodes == 4);
  CHECK_THAT(curve.end, Catch::Contains("4"));
}

TEST_CASE("a step whose communication is free does not depend on the NIC", "[report][sensitivity]") {
  auto const asked = asked_with({"network.free=true"});
  auto const effects = effects_of(asked.scenarios.front());
  auto const& nic = effect_of(effects, "NIC rate, with its port");
  CHECK(nic.more == 0);
  CHECK(nic.less == 0);
}

TEST_CASE("a step that transfers nearly all the time depends on the NIC as a transfer does", "[report][sensitivity]") {
  // At 50 MB/s the all_reduce takes 5.37 s beside some 0.07 s of GEMMs: 10 % more takes an eleventh of it away, 10 %
  // less adds a ninth.
  auto const asked = asked_with(with_nics_of("50 MB/s"));
  auto const effects = effects_of(asked.scenarios.front());
  CHECK(effects.front().parameter.name == "NIC rate, with its port");
  CHECK(effects.front().more == Approx(-1.0 / 11).epsilon(0.03));
  CHECK(effects.front().less == Approx(1.0 / 9).epsilon(0.03));
  for (std::size_t i = 1; i < effects.size(); ++i) CHECK(effects[i].size() <= effects[i - 1].size());
}

TEST_CASE("a step on one node has no network to depend on", "[report][sensitivity]") {
  auto const asked = asked_with({"cluster.nodes=1", "training.global_batch=8192"});
  for (auto const& parameter : parameters_of(asked.scenarios.front()))
    CHECK_THAT(parameter.path, !Catch::Contains("fabric"));
}
