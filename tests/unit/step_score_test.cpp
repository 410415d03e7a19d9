#include "validate/score/step_score.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/read_step.hpp"
#include "validate/score/step_intervals.hpp"

using namespace twinstep;
using namespace twinstep::tests;
using validate::StepAnswer;
using validate::StepBaseline;
using validate::StepRecord;

namespace {

/// A record that took `time` seconds, on `nodes` nodes.
StepRecord took(double time, std::int64_t nodes = 1) {
  auto record = read_step(
      changed(foundry_record(), R"("tokens_per_s_per_gpu": 2199)", fmt::format(R"("step_time_s": {})", time)));
  record.parallelism.data = nodes;  // tells the predictor below
  return record;
}

/// Says one second for 100 FLOP and 8 tokens on a GPU of 1,000 FLOP/s.
StepAnswer one_second(StepRecord const& record) {
  return {.step_time = Seconds{1.0},
          .tokens_per_gpu = 8,
          .model_flops = Flops{100},
          .peak = FlopsPerSecond{1000},
          .gpu = "some",
          .nodes = *record.parallelism.data};
}

double baseline(validate::ScoredStep const& row, StepBaseline which) {
  return row.baselines[static_cast<std::size_t>(which)].value();
}

}  // namespace

TEST_CASE("one utilisation is the geometric mean over a family's rows on one GPU type", "[steps]") {
  // 100 FLOP at 1,000 FLOP/s are 0.1 s: utilisations 0.1 / 1 and 0.1 / 4, mean 0.05, so 0.1 / 0.05 = 2 s for both.
  auto const records = std::vector{took(1), took(4)};
  for (auto const& row : validate::score_steps(records, one_second))
    CHECK(baseline(row, StepBaseline::kMfu) == Approx(2.0));
}

TEST_CASE("hardware utilisation counts recomputation as a third more", "[steps]") {
  // Recomputed: 0.1333 s at peak, 0.1333 / 4 · … the only row is met exactly whatever the factor.
  auto const records = std::vector{took(1), took(4)};
  auto const rows = validate::score_steps(records, [](StepRecord const& record) {
    auto answer = one_second(record);
    answer.is_recomputed = record.measurements.front().value > 2;
    return answer;
  });
  // Utilisations 0.1 / 1 and 0.1333 / 4; mean sqrt(0.1 · 0.03333) = 0.057735: 1.732 s and 2.309 s.
  CHECK(baseline(rows[0], StepBaseline::kHfu) == Approx(0.1 / 0.0577350269).epsilon(1e-6));
  CHECK(baseline(rows[1], StepBaseline::kHfu) == Approx(0.4 / 3 / 0.0577350269).epsilon(1e-6));
}

TEST_CASE("a row on several nodes may copy the rate of its own model on one node", "[steps]") {
  auto const records = std::vector{took(1.25), took(1.5, 4)};
  auto const rows = validate::score_steps(records, one_second);
  CHECK_FALSE(rows[0].baselines[static_cast<std::size_t>(StepBaseline::kSingleNode)]);
  CHECK(baseline(rows[1], StepBaseline::kSingleNode) == Approx(1.25));
}

TEST_CASE("a ratio of nodes is scored from what one node measured", "[steps]") {
  // One node took 1.25 s and was predicted 1 s; four are predicted 1.2 s: 1.25 · 1.2 / 1 = 1.5 s.
  auto const records = std::vector{took(1.25), took(1.5, 4)};
  auto const rows = validate::score_steps(records, [](StepRecord const& record) {
    auto answer = one_second(record);
    if (answer.nodes > 1) answer.step_time = Seconds{1.2};
    return answer;
  });
  CHECK_FALSE(rows[0].baselines[static_cast<std::size_t>(StepBaseline::kRatio)]);
  CHECK(baseline(rows[1], StepBaseline::kRatio) == Approx(1.5));
}

TEST_CASE("a rate is predicted as tokens a second and GPU", "[steps]") {
  auto const rows = validate::score_steps({read_step(foundry_record())}, one_second);
  CHECK(rows[0].predicted == 8.0);
}

TEST_CASE("rows that are skipped, doubted or assumed are shown and not scored", "[steps]") {
  auto doubted = took(1);
  doubted.confidence = "low";
  auto const records = std::vector{doubted, took(1), took(2)};
  auto const rows = validate::score_steps(records, [&](StepRecord const& record) {
    auto answer = one_second(record);
    answer.is_assumed = &record == &records[1];
    return &record == &records[2] ? StepAnswer{.skipped = "cannot"} : answer;
  });
  CHECK(rows[0].predicted.has_value());
  CHECK_FALSE(rows[0].is_scored);
  CHECK_THAT(rows[0].note, Catch::Contains("low confidence"));
  CHECK_FALSE(rows[1].is_scored);
  CHECK_FALSE(rows[2].predicted);
  CHECK(rows[2].note == "cannot");
}

TEST_CASE("a band takes the extremes of few factors and cuts the tails of many", "[steps]") {
  auto factors = std::vector<double>{};
  for (auto i = 1; i <= 9; ++i) factors.push_back(i);
  CHECK_FALSE(validate::band_of(factors));
  factors.push_back(10);
  CHECK(validate::band_of(factors)->low == 1);
  CHECK(validate::band_of(factors)->high == 10);
  for (auto i = 11; i <= 99; ++i) factors.push_back(i);
  CHECK(validate::band_of(factors)->low == 5);    // the 100 · 0.05-th of 99
  CHECK(validate::band_of(factors)->high == 95);  // the 100 · 0.95-th
}

TEST_CASE("an interval comes from the other rows of the family", "[steps]") {
  // Ten rows took 1.1 to 2.0 times as long as predicted, and one 5 times: it is not in its own interval, and in that
  // of the others.
  auto records = std::vector<StepRecord>{};
  for (auto i = 1; i <= 10; ++i) records.push_back(took(1 + i / 10.0));
  records.push_back(took(5));
  auto const rows = validate::score_steps(records, one_second);
  CHECK(rows[10].low.value() == Approx(1.1));
  CHECK(rows[10].high.value() == Approx(2.0));
  CHECK(rows[0].low.value() == Approx(1.2));
  CHECK(rows[0].high.value() == Approx(5.0));
  CHECK(validate::quality_of(rows)->inside == Approx(9.0 / 11));  // the fastest and the slowest are outside
}

TEST_CASE("a family of few rows has the interval of other families' rows that no constant has seen", "[steps]") {
  auto records = std::vector<StepRecord>{};
  for (auto i = 1; i <= 20; ++i) records.push_back(took(1 + i / 10.0));
  records.push_back(took(1));
  records.back().family = "another";
  auto const rows = validate::score_steps(records, [&](StepRecord const& record) {
    auto answer = one_second(record);
    answer.is_fitted = &record >= &records[10];
    return answer;
  });
  CHECK(rows[20].low.value() == Approx(1.1));  // of the ten that were only predicted
  CHECK(rows[20].high.value() == Approx(2.0));
}
