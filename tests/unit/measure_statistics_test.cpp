#include <cmath>

#include "tests/support/catch.hpp"
#include "validate/measure/sampling.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::measure;

TEST_CASE("percentiles lie between samples in proportion", "[measure][statistics]") {
  auto const sorted = std::vector{10_us, 20_us, 30_us, 40_us, 50_us};
  CHECK(percentile(sorted, 0.5) == 30_us);
  CHECK(percentile(sorted, 0.1) == 14_us);  // place 0.4 of 4: 10 + 0.4 * 10
  CHECK(percentile(sorted, 0.9) == 46_us);
  CHECK(percentile(std::vector{7_us}, 0.9) == 7_us);
}

TEST_CASE("the median's interval begins at the order statistic that binomial tables give", "[measure][statistics]") {
  // Conover, Practical Nonparametric Statistics, table A3 (n, p = 0.5): P(B <= j - 1) <= 0.025.
  CHECK(median_interval_rank(5) == 0);  // 2 / 32 > 5 %: none
  CHECK(median_interval_rank(6) == 1);  // 1 / 64 = 1.6 %; 7 / 64 is too much
  CHECK(median_interval_rank(8) == 1);  // 9 / 256 = 3.5 %
  CHECK(median_interval_rank(9) == 2);  // 10 / 512 = 2.0 %
  CHECK(median_interval_rank(10) == 2);
  CHECK(median_interval_rank(20) == 6);    // P(B <= 5) = 2.07 %, P(B <= 6) = 5.8 %
  CHECK(median_interval_rank(100) == 40);  // P(B <= 39) = 1.76 %, P(B <= 40) = 2.8 %
}

TEST_CASE("a spread knows its median's precision from the samples themselves", "[measure][statistics]") {
  // Six samples: the interval is all of them, 98 to 104; half of 6 over the median 101.
  auto const spread = spread_of(std::vector{104_us, 98_us, 100_us, 101_us, 102_us, 101_us});
  CHECK(spread.median == 101_us);
  REQUIRE(spread.precision);
  CHECK(*spread.precision == Approx(3.0 / 101));
  CHECK_FALSE(spread_of(std::vector{1_us, 1_us, 1_us, 1_us, 1_us}).precision);
}

TEST_CASE("one outlier does not spoil the median nor its precision", "[measure][statistics]") {
  auto samples = std::vector<Duration>(9, 100_us);
  samples[4] = 9_ms;
  auto const spread = spread_of(samples);
  CHECK(spread.median == 100_us);
  CHECK(*spread.precision == 0);               // of nine sorted ones, from the second to the second last
  CHECK(find_doubts(spread, {}).size() == 1);  // … but the 90th percentile shows it: 100 us + 0.2 * 8.9 ms
}

TEST_CASE("a machine that throttles is seen in the order of samples", "[measure][statistics]") {
  // First third 100 us, last third 120 us.
  auto const spread = spread_of(std::vector{100_us, 100_us, 110_us, 110_us, 120_us, 120_us});
  CHECK(*spread.drift == Approx(0.2));
  auto const doubts = find_doubts(spread, {.precision = 0.5});
  REQUIRE(doubts.size() == 1);
  CHECK_THAT(doubts[0], Catch::Contains("later batches took +20 %: is something throttled"));
}

TEST_CASE("too few batches are said", "[measure][statistics]") {
  auto const doubts = find_doubts(spread_of(std::vector{100_us, 101_us}), {});
  REQUIRE(doubts.size() == 1);
  CHECK_THAT(doubts[0], Catch::Contains("2 batches are too few"));
}
