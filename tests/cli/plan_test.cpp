#include <algorithm>
#include <set>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

std::string const kScenario = in_repository("examples/llama-2-7b-4xh100.json");

/// A small search: two strategies.
Outcome asked(std::vector<std::string> more) {
  auto arguments = std::vector<std::string>{"plan", kScenario, "--strategy", "fsdp2", "--strategy", "ddp"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_twinstep(arguments);
}

io::Node answer(std::vector<std::string> more) {
  more.emplace_back("--json");
  auto const outcome = asked(std::move(more));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return io::parse({"answer", outcome.out});
}

/// In columns: code points of UTF-8.
std::size_t widest_line(std::string_view text) {
  auto widest = std::size_t{0};
  auto width = std::size_t{0};
  for (auto const c : text) {
    width = c == '\n' ? 0 : width + ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U ? 0 : 1);
    widest = std::max(widest, width);
  }
  return widest;
}

std::string refusal(std::vector<std::string> more) {
  auto const outcome = asked(std::move(more));
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  return outcome.err;
}

}  // namespace

TEST_CASE("the best plan, pasted, takes the step time that plan says", "[cli][plan]") {
  auto const found = answer({"--top", "3"});
  auto const plans = found.at("plans").elements();
  REQUIRE(plans.size() == 3);
  auto last = 0.0;
  for (auto const& plan : plans) {
    CHECK(plan.at("step_time_s").number() >= last);
    last = plan.at("step_time_s").number();
    auto arguments = std::vector<std::string>{"simulate", kScenario, "--json"};
    for (auto const& setting : plan.at("set").elements())
      arguments.insert(arguments.end(), {"--set", std::string{setting.string()}});
    auto const simulated = io::parse({"answer", run_twinstep(arguments).out});
    CHECK(simulated.at("step_time_s").number() == last);
    CHECK(simulated.at("fits").boolean());
  }
}

TEST_CASE("a goal gives days, GPU-hours, money, energy and goodput", "[cli][plan]") {
  auto const found =
      answer({"--top", "1", "--tokens", "2T", "--price", "2.5 USD/GPU-hour@2026-11", "--power", "10.2 kW/node", "--pue",
              "1.2", "--mtbf", "50000 h/GPU", "--checkpoint", "2 GB/s", "--restart", "10 min"});
  auto const plan = found.at("plans").elements().front();
  auto const job = plan.at("job");
  auto const gpu_hours = job.at("gpu_hours").number();
  // 2e12 tokens in steps of 32 × 4096 on 32 GPUs.
  auto const useful = 2e12 / (32 * 4096) * plan.at("step_time_s").number();
  CHECK(job.at("time_s").number() == Approx(useful / job.at("goodput").number()));
  CHECK(gpu_hours == Approx(job.at("time_s").number() * 32 / 3600));
  CHECK(job.at("cost").at("amount").number() == Approx(2.5 * gpu_hours));
  CHECK(job.at("energy_kwh").number() == Approx(10.2 / 8 * 1.2 * gpu_hours));
  // 50,000 h over 32 GPUs; fp32 parameters and two moments of 6,738,415,616 parameters at 2 GB/s.
  CHECK(job.at("between_failures_s").number() == Approx(50'000 * 3600.0 / 32));
  CHECK(job.at("checkpoint_s").number() == Approx(12 * 6'738'415'616.0 / 2e9));
}

TEST_CASE("a deadline that is missed says by how much and how many GPUs would do", "[cli][plan]") {
  // Two thirds of the time that 32 GPUs need: twice as many have half the work each, and 16 sequences of it still.
  auto const free = answer({"--top", "1", "--tokens", "2T", "--set", "training.global_batch=512"});
  auto const days = free.at("plans").elements().front().at("job").at("time_s").number() / 86400;
  auto const found = answer({"--top", "1", "--tokens", "2T", "--set", "training.global_batch=512", "--deadline",
                             std::to_string(days / 1.5) + "d", "--mtbf", "500000 h/GPU", "--checkpoint", "2 TB/s",
                             "--restart", "10 min"});
  auto const verdict = std::string{found.at("verdict").elements().front().string()};
  CHECK_THAT(verdict, Catch::Contains("No plan meets the deadline"));
  CHECK_THAT(verdict, Catch::Contains("64 GPUs would do"));
  CHECK(found.at("minimum_gpus").elements().front().at("meet_deadline").integer() == 64);
}

TEST_CASE("strategies that frameworks run are compared by their best, a paper's are asked for", "[cli][plan]") {
  auto const names = [](std::vector<std::string> const& more) {
    auto arguments = std::vector<std::string>{"plan", kScenario, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto const answer = io::parse({"answer", run_twinstep(arguments).out});
    auto found = std::set<std::string>{};
    for (auto const& plan : answer.at("plans").elements()) found.emplace(plan.at("strategy").string());
    return found;
  };
  auto const all = names({"--top", "20"});
  CHECK(all.contains("fsdp2"));
  CHECK(all.contains("deepspeed-3"));
  CHECK_FALSE(all.contains("zero-3"));
  CHECK(names({"--strategy", "zero-3"}) == std::set<std::string>{"zero-3"});
}

TEST_CASE("what does not fit is said first, with what would", "[cli][plan]") {
  auto const outcome =
      run_twinstep({"plan", in_repository("examples/llama-3.1-70b-64xh100.json"), "--gpus", "64", "--strategy", "ddp"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("No plan fits on 64 GPUs: ddp needs"));
  CHECK_THAT(outcome.out, !Catch::Contains("Plans that fit"));
}

TEST_CASE("fewer GPUs than asked may hold the model, and more are on the front", "[cli][plan]") {
  auto const found = answer({"--gpus", "8..64", "--tokens", "1T", "--set", "training.global_batch=128"});
  CHECK(found.at("minimum_gpus").elements().front().at("fit").integer() == 8);
  auto const front = found.at("pareto").elements();
  REQUIRE(front.size() >= 2);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i].at("job").at("time_s").number() > front[i - 1].at("job").at("time_s").number());
    CHECK(front[i].at("job").at("gpu_hours").number() < front[i - 1].at("job").at("gpu_hours").number());
  }
}

TEST_CASE("tables are 80 columns wide, but for the line to paste", "[cli][plan]") {
  auto const outcome = asked({"--tokens", "2T", "--price", "2.5 USD/GPU-hour@2026-11", "--gpus", "16..64"});
  REQUIRE(outcome.exit_code == 0);
  auto const paste = outcome.out.find("The first one");
  REQUIRE(paste != std::string::npos);
  CHECK(widest_line(outcome.out.substr(0, paste)) <= 80);
}

TEST_CASE("questions that cannot be asked of a plan name the way out", "[cli][plan]") {
  CHECK_THAT(refusal({"--tokens", "1T", "--budget", "2 M USD"}), Catch::Contains("--price"));
  CHECK_THAT(refusal({"--deadline", "30d"}), Catch::Contains("--tokens"));
  CHECK_THAT(refusal({"--tokens", "1T", "--deadline", "0d"}), Catch::Contains("above zero"));
  CHECK_THAT(refusal({"--gpus", "12"}), Catch::Contains("whole nodes of 8 GPUs") && Catch::Contains("use 8, 16"));
  CHECK_THAT(refusal({"--tokens", "1T", "--price", "2.5 USD/GPU-hour"}), Catch::Contains("with its date"));
  CHECK_THAT(refusal({"--strategy", "fsdp3"}), Catch::Contains("did you mean"));
  CHECK_THAT(refusal({"--tokens", "1T", "--price", "2 USD/GPU-hour@2026-11", "--budget", "1 M EUR"}),
             Catch::Contains("one currency"));
  CHECK_THAT(refusal({"--set", "training.global_batch=null"}), Catch::Contains("global_batch"));
}
