
#include <cmath>

#include "app/plan_question.hpp"
#include "reports/job_text.hpp"
#include "reports/plan.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::app;
using namespace twinstep::explore;

using Changes = std::vector<std::string>;

TEST_CASE("commas part the changes of a question, but not in quotes, braces and brackets", "[plan][what-if]") {
  auto const read = [](std::string const& text) { return io::texts_of(read_what_if(text).changes); };
  CHECK(read("a.b=1") == Changes{"a.b=1"});
  CHECK(read("a=800 Gb/s, b.c=2,d=x") == Changes{"a=800 Gb/s", "b.c=2", "d=x"});
  CHECK(read(R"(model={"layers": 8, "heads": [1, 2]},b=2)") ==
        Changes{R"(model={"layers": 8, "heads": [1, 2]})", "b=2"});
  CHECK(read(R"(a="one, b=2",c=3)") == Changes{R"(a="one, b=2")", "c=3"});
  CHECK(read(R"(a="a \"quoted\", text",c=3)") == Changes{R"(a="a \"quoted\", text")", "c=3"});
}

TEST_CASE("a change without a value names the part that lacks it, and how to write a comma", "[plan][what-if]") {
  CHECK_THROWS_WITH(read_what_if("a=one, two"), Catch::Contains("--what-if a=one, two: ") &&
                                                    Catch::Contains("\"two\"") && Catch::Contains("double quotes"));
  CHECK_THROWS_WITH(read_what_if(""), Catch::Contains("path=value"));
  CHECK_THROWS_WITH(read_what_if("a=1,"), Catch::Contains("path=value"));
}

TEST_CASE("changes of the same are refused, since one of them would be lost", "[plan][what-if]") {
  CHECK_THROWS_WITH(read_what_if("a.b=1,a.b=2"), Catch::Contains("give each path once"));
  CHECK_THROWS_WITH(read_what_if("a.b=1,a={}"), Catch::Contains("\"a\" and \"a.b\""));
  CHECK(read_what_if("a.b=1,a.bc=2").changes.size() == 2);
}

TEST_CASE("amounts, times, money and power are read with their units", "[plan][goal]") {
  CHECK(read_amount("--tokens", "15T") == 15e12);
  CHECK(read_amount("--tokens", "300 B tokens") == 300e9);
  CHECK(read_amount("--tokens", "2e12") == 2e12);
  CHECK(read_long_time("--deadline", "30d") == Seconds{30 * 86400.0});
  CHECK(read_long_time("--deadline", "720 h") == Seconds{30 * 86400.0});
  CHECK(read_long_time("--deadline", "3 weeks") == Seconds{21 * 86400.0});
  CHECK(read_energy("--energy", "2 GWh") == 2e6);
  CHECK(read_share("--headroom", "7.5 %") == Approx(0.075));
  CHECK(read_share("--headroom", "0%") == 0);
  auto const money = read_money("--budget", "2 M USD");
  CHECK(money.amount == 2e6);
  CHECK(money.currency == "USD");
  CHECK(read_between_failures("100 h/node").value == Seconds{100 * 3600.0});
}

TEST_CASE("what is said of a node its GPUs share", "[plan][goal]") {
  auto const node = hardware::Node{.gpus = 8};
  auto const watts = [&](std::string const& text) {
    return *plan::goal_on({.watts = read_watts(text)}, node).watts_per_gpu;
  };
  // 10.2 kW for a node of 8: 1275 W each.
  CHECK(watts("10.2 kW/node") == Approx(1275));
  CHECK(watts("1275 W/GPU") == Approx(1275));
  // One of 8 GPUs of a node fails an eighth as often as the node.
  auto const between_failures = [&](std::string const& text) {
    auto const goal = plan::Goal{.between_failures = read_between_failures(text)};
    return plan::goal_on(goal, node).reliability->between_failures_of_gpu;
  };
  CHECK(between_failures("100 h/node") == Seconds{800 * 3600.0});
  CHECK(between_failures("800 h/GPU") == Seconds{800 * 3600.0});
  auto const price = plan::price_on(read_price("20 USD/node-hour@2026-11"), node);
  CHECK(price.per_gpu_hour.amount == Approx(2.5));
  CHECK(price.date == "2026-11");
}

TEST_CASE("a price has a date", "[plan][goal]") {
  CHECK(read_price("20 USD/node-hour@2026-11").date == "2026-11");
  CHECK_THROWS_WITH(read_price("2.5 USD/GPU-hour"), Catch::Contains("with its date"));
  CHECK_THROWS_WITH(read_price("2.5 USD/GPU-hour@soon"), Catch::Contains("with its date"));
  CHECK_THROWS_WITH(read_price("2.5 USD@2026-11"), Catch::Contains("GPU-hour"));
}

TEST_CASE("a price is of a day that the calendar has", "[plan][goal]") {
  CHECK(read_price("2.5 USD/GPU-hour@2028-02-29").date == "2028-02-29");  // a leap year
  for (auto const* const date : {"2026-02-29", "2026-02-31", "2026-04-31", "2026-13", "2026-00", "2026-01-00"})
    CHECK_THROWS_WITH(read_price(std::string{"2.5 USD/GPU-hour@"} + date), Catch::Contains("calendar"));
}

TEST_CASE("times, energy and GPU-hours are told in the unit that fits them", "[plan][goal]") {
  CHECK(reports::long_time_text(Seconds{200 * 86'400.0}) == "200 days");
  CHECK(reports::long_time_text(Seconds{1.5 * 86'400}) == "1.5 days");
  CHECK(reports::long_time_text(Seconds{2.5 * 3600}) == "2.5 hours");
  CHECK(reports::long_time_text(Seconds{90}) == "1.5 min");
  CHECK(reports::long_time_text(Seconds{12.34}) == "12.34 s");
  CHECK(reports::long_time_text(Seconds{0.012}) == "12.00 ms");
  CHECK(reports::energy_text(2.5e6) == "2.50 GWh");
  CHECK(reports::energy_text(2500) == "2.5 MWh");
  CHECK(reports::energy_text(25) == "25 kWh");
  CHECK(reports::energy_text(0.025) == "25 Wh");
  CHECK(reports::gpu_hours_text(12'345) == "12,345");
  CHECK(reports::gpu_hours_text(0.0123) == "0.012");
  CHECK(reports::gpus_text(1) == "1 GPU");
  CHECK(reports::gpus_text(1024) == "1,024 GPUs");
}

TEST_CASE("what cannot be is refused with what can", "[plan][goal]") {
  CHECK_THROWS_WITH(read_long_time("--deadline", "0d"), Catch::Contains("above zero"));
  CHECK_THROWS_WITH(read_long_time("--deadline", "-3d"), Catch::Contains("above zero"));
  CHECK_THROWS_WITH(read_long_time("--deadline", "30"), Catch::Contains("\"30d\""));
  for (auto const* const amount : {"15X", "nan", "inf", "1e308", "-1", "0", ""})
    CHECK_THROWS_WITH(read_amount("--tokens", amount), Catch::Contains("15T"));
  CHECK_THROWS_WITH(read_money("--budget", "0 USD"), Catch::Contains("above zero"));
  CHECK_THROWS_WITH(read_energy("--energy", "2 GW"), Catch::Contains("GWh"));
  for (auto const* const share : {"100%", "-1%", "nan%", "5", ""})
    CHECK_THROWS_WITH(read_share("--headroom", share), Catch::Contains("below 100%"));
  CHECK_THROWS_WITH(read_gpus("512..64"), Catch::Contains("smaller number first"));
  CHECK_THROWS_WITH(read_gpus("many"), Catch::Contains("64..4096"));
}

TEST_CASE("a goal names what it lacks", "[plan][goal]") {
  auto const complaint = [](auto&& change) {
    auto options = PlanOptions{};
    options.tokens = "1T";
    change(options);
    try {
      (void)plan::goal_on(read_goal(options), hardware::Node{.gpus = 8});
    } catch (InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK_THAT(complaint([](PlanOptions& o) { o.budget = "2 M USD"; }), Catch::Contains("--price"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.tokens.reset(), o.deadline = "30d"; }), Catch::Contains("--tokens"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.pue = 1.2; }), Catch::Contains("--power"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.energy = "2 GWh"; }), Catch::Contains("--power"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.mtbf = "50000 h/GPU"; }), Catch::Contains("--checkpoint"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.mtbf = "50000 h/GPU", o.checkpoint = "60 s"; }),
             Catch::Contains("--restart"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.power = "10 kW/node", o.pue = 0.5; }), Catch::Contains("from 1"));
  CHECK_THAT(complaint([](PlanOptions& o) { o.checkpoint = "60 s", o.restart = "10 min"; }), Catch::Contains("--mtbf"));
}

TEST_CASE("how often GPUs fail is in their profile, unless the user says it", "[plan][goal]") {
  auto node = hardware::Node{.gpus = 8};
  node.gpu.failures_per_thousand_days = {.value = 0.5, .source = "a measurement"};
  auto options = PlanOptions{.tokens = "1T", .checkpoint = "60 s", .restart = "10 min"};
  auto const from_profile = *plan::goal_on(read_goal(options), node).reliability;
  CHECK(from_profile.between_failures_of_gpu.count() == Approx(2000 * 86'400.0));  // 1000 days / 0.5
  CHECK(from_profile.source == "a measurement");
  options.mtbf = "100 h/node";
  auto const said = *plan::goal_on(read_goal(options), node).reliability;
  CHECK(said.between_failures_of_gpu.count() == Approx(8 * 100 * 3600.0));
  CHECK(said.source == "--mtbf");
}

TEST_CASE("a job takes its steps over its goodput, and costs and burns by the hour", "[plan][goal]") {
  // 1e9 tokens in steps of 1e6 are 1,000 steps of 3.6 s: one hour on 16 GPUs, 16 GPU-hours, 40 USD at 2.5, and at 1 kW
  // a GPU with a PUE of 1.25, 20 kWh.
  auto goal = reports::Goal{.tokens = 1e9, .watts_per_gpu = 1000, .pue = 1.25};
  auto const step = reports::JobStep{.step_time = to_duration(Seconds{3.6}), .tokens = 1'000'000, .gpus = 16};
  auto const price = reports::Price{{2.5, "USD"}, "2026-11"};
  auto const job = *reports::job_of(step, goal, price);
  CHECK(job.time.count() == Approx(3600));
  CHECK(job.gpu_hours == Approx(16));
  CHECK(job.cost->amount == Approx(40));
  CHECK(*job.energy_kwh == Approx(20));
  CHECK(job.goodput == 1);
  // 160,000 s between a GPU's failures are 10,000 s between the job's. 100 GB at 2 GB/s: 50 s for a checkpoint.
  goal.reliability = reports::Reliability{
      .between_failures_of_gpu = Seconds{160'000}, .restart = Seconds{600}, .storage = BytesPerSecond{2e9}};
  auto stored = step;
  stored.states = Bytes{100'000'000'000};
  auto const failing = *reports::job_of(stored, goal, price);
  CHECK(failing.failures->between_failures.count() == Approx(10'000));
  CHECK(failing.failures->checkpoint.count() == Approx(50));
  CHECK(failing.time.count() == Approx(3600 / failing.goodput));
  CHECK(failing.goodput < 0.9);
}

TEST_CASE("a job that failures leave less than a thousandth of its time is lost", "[plan][goal]") {
  CHECK(reports::is_lost({.goodput = 0}));
  CHECK(reports::is_lost({.goodput = 0.0009}));
  CHECK(reports::is_lost({.goodput = std::nan("")}));
  CHECK_FALSE(reports::is_lost({.goodput = 0.0011}));
}

TEST_CASE("a job misses the limits that it is beyond, by as much", "[plan][goal]") {
  // An hour on 16 GPUs at 2.5 USD and 1 kW each: 40 USD and 16 kWh.
  auto const job =
      reports::Job{.time = Seconds{3600}, .gpu_hours = 16, .cost = reports::Money{40, "USD"}, .energy_kwh = 16};
  CHECK_FALSE(reports::misses_of(job, {}).any());
  CHECK_FALSE(reports::misses_of(job, {.deadline = Seconds{3600}, .budget = reports::Money{40, "USD"}}).any());
  auto const misses =
      reports::misses_of(job, {.deadline = Seconds{3000}, .budget = reports::Money{30, "USD"}, .most_energy_kwh = 10});
  CHECK(*misses.late == Seconds{600});
  CHECK(misses.over_budget->amount == 10);
  CHECK(*misses.over_energy_kwh == 6);
}

TEST_CASE("on the front no plan is both slower and dearer than another", "[plan]") {
  auto const plan = [](double days, double hours) {
    return reports::PlannedStep{.job = reports::Job{.time = Seconds{days * 86400}, .gpu_hours = hours}};
  };
  // 3 days for 100 is slower and dearer than 2 days for 90; 4 days for 80 is the cheapest, 1 day for 200 the fastest.
  auto const front = reports::pareto_front({plan(3, 100), plan(4, 80), plan(1, 200), plan(2, 90), plan(5, 80)});
  REQUIRE(front.size() == 3);
  CHECK(front[0].job->gpu_hours == 200);
  CHECK(front[1].job->gpu_hours == 90);
  CHECK(front[2].job->gpu_hours == 80);
}

TEST_CASE("a batch of three critical ones needs four times the tokens", "[plan]") {
  // E / E_min = 1 + B / B_crit = 1 + 12 / 4.
  CHECK_THAT(reports::critical_batch_warning(12e6, 4e6, "tokens"), Catch::Contains("about 4 times"));
  CHECK(reports::critical_batch_warning(4e6, 4e6, "tokens").empty());
}
