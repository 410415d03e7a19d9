#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// ZeRO-1 on 32 GPUs, which gathers its parameters where nothing hides it.
std::vector<std::string> question(std::vector<std::string> more) {
  auto arguments = std::vector<std::string>{"simulate", in_repository("examples/llama-2-7b-4xh100.json"), "--json",
                                            "--set", R"(strategy={"name": "zero-1"})"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

io::Node answer(std::vector<std::string> more) {
  auto const outcome = run_twinstep(question(std::move(more)));
  REQUIRE(outcome.exit_code == 0);
  return io::parse({"answer", outcome.out});
}

}  // namespace

TEST_CASE("--why offers changes that make what they promise when they are pasted", "[cli][why]") {
  auto const asked = answer({"--why"});
  auto const changes = asked.at("why").at("changes").elements();
  REQUIRE(changes.size() >= 3);
  auto last = 0.0;
  for (auto const& change : changes) {  // the best first; all help, and fit
    CHECK(change.at("step_time_s").number() >= last);
    last = change.at("step_time_s").number();
    CHECK(change.at("saves_s").number() > 0);
    CHECK(change.at("fits").boolean());
  }
  for (std::size_t i = 0; i < 3; ++i) {
    auto settings = std::vector<std::string>{};
    for (auto const& setting : changes[i].at("set").elements())
      settings.insert(settings.end(), {"--set", std::string{setting.string()}});
    INFO(changes[i].at("name").string());
    CHECK(answer(settings).at("step_time_s").number() == changes[i].at("step_time_s").number());
  }
}

TEST_CASE("--why offers no strategy that is only for transformers to another model", "[cli][why]") {
  // zero-3 gathers parameters twice over 10 Gb/s Ethernet; megatron, which would not, would be faster.
  auto const outcome = run_twinstep({"simulate", in_repository("examples/mlp-10gbe.json"), "--why", "--json", "--set",
                                     R"(strategy={"name": "zero-3"})"});
  REQUIRE(outcome.exit_code == 0);
  auto const changes = io::parse({"answer", outcome.out}).at("why").at("changes").elements();
  REQUIRE_FALSE(changes.empty());
  for (auto const& change : changes) CHECK_THAT(std::string{change.at("name").string()}, !Catch::Contains("megatron"));
}

TEST_CASE("communication free is the same step without it, and the difference is what it costs", "[cli][why]") {
  auto const asked = answer({"--why"});
  auto const free = answer({"--set", "network.free=true"});
  CHECK(free.at("network_free").boolean());
  CHECK(free.at("exposed_communication_s").number() == 0);
  CHECK(free.at("step_time_s").number() == asked.at("why").at("communication_free_s").number());
  CHECK(asked.at("why").at("communication_costs_s").number() ==
        Approx(asked.at("step_time_s").number() - free.at("step_time_s").number()));
}

TEST_CASE("--why says in words what a step waits for, one section a strategy", "[cli][why]") {
  auto const outcome = run_twinstep({"simulate", in_repository("examples/llama-2-7b-4xh100.json"), "--why", "--set",
                                     "cluster.nodes=2", "--set", "training.global_batch=16"});
  REQUIRE(outcome.exit_code == 0);
  for (auto const* const part :
       {"Why zero-1 takes", "Why zero-3 takes", "exposed all_gather", "with communication free", "--set 'strategy.2={"})
    CHECK_THAT(outcome.out, Catch::Contains(part));
}

TEST_CASE("what would fit is what was asked for with the fewest changes, in its framework", "[cli][why]") {
  auto const way_out = [](std::string const& strategy) {
    auto const outcome =
        run_twinstep({"simulate", in_repository("examples/llama-2-7b-4xh100.json"), "--json", "--set",
                      "training.micro_batch=4", "--set", "training.global_batch=128", "--set", "strategy=" + strategy});
    return std::string{io::parse({"answer", outcome.out}).at("way_out").string()};
  };
  CHECK_THAT(way_out(R"({"name": "deepspeed-1"})"), Catch::Contains("deepspeed-1 + micro-batch"));
  CHECK_THAT(way_out(R"({"name": "fsdp2"})"), Catch::Contains("fsdp2 + micro-batch"));
  CHECK_THAT(way_out(R"({"name": "ddp"})"), Catch::Contains("fsdp1 + micro-batch 2"));
}

TEST_CASE("a plan that cannot run has no reason for its time", "[cli][why]") {
  auto const outcome = run_twinstep({"simulate", in_repository("examples/does-not-divide.json"), "--why"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, !Catch::Contains("What would help"));
}
