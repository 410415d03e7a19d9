#include "reports/job.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::reports;

TEST_CASE("Llama 3's 419 interruptions in 54 days come once in 3.1 hours", "[goodput]") {
  // 16,384 GPUs; arXiv 2407.21783, section 3.3.4. 54 · 24 h / 419 = 3.093 h, so one GPU fails in 16,384 times that:
  // 50,677 h. Half as many GPUs are interrupted half as often.
  auto const of_one_gpu = Seconds{54 * 86400.0 * 16384 / 419};
  CHECK(of_one_gpu.count() / 3600 == Approx(50'677).epsilon(1e-4));
  CHECK((of_one_gpu / 16384.0).count() / 3600 == Approx(3.1).epsilon(0.01));
  CHECK((of_one_gpu / 8192.0).count() / 3600 == Approx(6.2).epsilon(0.01));
}

TEST_CASE("Young's interval is the root of twice the checkpoint times the time between failures", "[goodput]") {
  // δ = 50 s, M = 10,000 s: √(2 · 50 · 10,000) = 1,000 s.
  CHECK(young_interval({Seconds{10'000}, Seconds{50}, {}}).count() == Approx(1000));
}

TEST_CASE("Daly's interval corrects Young's where checkpoints are long", "[goodput]") {
  // δ / 2M = 50 / 20,000 = 0.0025, its root 0.05: 1000 · (1 + 0.05 / 3 + 0.0025 / 9) - 50 = 966.944 s.
  CHECK(daly_interval({Seconds{10'000}, Seconds{50}, {}}).count() == Approx(966.944).epsilon(1e-6));
  // δ / 2M = 1/4, its root 1/2, √(2δM) = √(2 · 5,000 · 10,000) = 10,000: 10,000 · (1 + 1/6 + 1/36) - 5,000 = 6,944.4 s.
  CHECK(daly_interval({Seconds{10'000}, Seconds{5'000}, {}}).count() == Approx(6944.444).epsilon(1e-6));
}

TEST_CASE("checkpoints twice as long as the time between failures leave an interval of that time", "[goodput]") {
  CHECK(daly_interval({Seconds{100}, Seconds{200}, {}}) == Seconds{100});
  CHECK(daly_interval({Seconds{100}, Seconds{900}, {}}) == Seconds{100});
}

TEST_CASE("goodput counts checkpoints, lost work and restarts", "[goodput]") {
  // M = 10,000, δ = 50, R = 600, τ = 950: (τ + δ) / M = 0.1, e^0.1 - 1 = 0.1051709; e^(R/M) = e^0.06 = 1.0618365.
  // 950 / (10,000 · 1.0618365 · 0.1051709) = 0.850686.
  auto const failures = Failures{Seconds{10'000}, Seconds{50}, Seconds{600}};
  CHECK(goodput(failures, Seconds{950}) == Approx(0.850686).epsilon(1e-5));
  // Failures that never come leave the checkpoints: 950 of 1,000.
  CHECK(goodput({Seconds{1e12}, Seconds{50}, Seconds{600}}, Seconds{950}) == Approx(0.95).epsilon(1e-6));
}

TEST_CASE("no interval does better than Daly's by more than a thousandth", "[goodput]") {
  // The estimate has an error of a few parts in a hundred of the interval, to which goodput is flat.
  for (auto const checkpoint : {10.0, 100.0, 1000.0}) {
    auto const failures = Failures{Seconds{11'135}, Seconds{checkpoint}, Seconds{600}};
    auto const best = goodput(failures, daly_interval(failures));
    for (auto const factor : {0.25, 0.5, 0.8, 1.25, 2.0, 4.0})
      CHECK(goodput(failures, daly_interval(failures) * factor) < best * 1.001);
  }
}
