#include <algorithm>
#include <map>
#include <set>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

std::string const kScenario = in_repository("examples/llama-2-7b-4xh100.json");

/// LLaMA-2-7B's layers, but eight of them: the same questions in a quarter of the time.
std::string const kModel =
    R"(model={"family": "llama", "layers": 8, "hidden": 4096, "heads": 32, "ffn": 11008, "vocabulary": 32000})";

/// A small search: two strategies.
Outcome asked(std::vector<std::string> more) {
  auto arguments =
      std::vector<std::string>{"plan", kScenario, "--set", kModel, "--strategy", "zero-3", "--strategy", "ddp"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_twinstep(arguments);
}

io::Node answer(std::vector<std::string> more) {
  more.emplace_back("--json");
  auto const outcome = asked(std::move(more));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(tests::schema_violations(outcome.out, read_file(in_repository("reports/schema/plan.schema.json"))).empty());
  return io::parse({"answer", outcome.out});
}

io::Node first_plan(io::Node const& answer) {
  return answer.at("plans").elements().front();
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
  auto const found = answer({"--top", "2", "--strategy", "fsdp2"});
  auto const plans = found.at("plans").elements();
  REQUIRE(plans.size() == 2);
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
  // 50,000 h over 32 GPUs. ZeRO holds 2 bytes of each of 1,881,214,976 parameters, a master of 4 and two moments, at
  // 2 GB/s: eight blocks of 202,383,360, embedding and head of 32,000 x 4,096 each, a norm of 4,096.
  REQUIRE(plan.at("strategy").string() == "zero-3");
  CHECK(job.at("between_failures_s").number() == Approx(50'000 * 3600.0 / 32));
  CHECK(job.at("checkpoint_s").number() == Approx(14 * 1'881'214'976.0 / 2e9));
}

TEST_CASE("a deadline that is missed says by how much and how many GPUs would do", "[cli][plan]") {
  // Two thirds of the time that 32 GPUs need: twice as many have half the work each, and 16 sequences of it still.
  auto const free = answer({"--top", "1", "--tokens", "2T", "--set", "training.global_batch=512"});
  auto const days = free.at("plans").elements().front().at("job").at("time_s").number() / 86400;
  auto const found = answer({"--top", "1", "--tokens", "2T", "--set", "training.global_batch=512", "--deadline",
                             std::to_string(days / 1.5) + "d", "--mtbf", "500000 h/GPU", "--checkpoint", "2 TB/s",
                             "--restart", "10 min"});
  auto const verdict = std::string{found.at("verdict").elements().front().string()};
  auto const late = first_plan(found).at("job").at("misses").at("late_s").number();
  CHECK(late == Approx(first_plan(found).at("job").at("time_s").number() - days / 1.5 * 86400).epsilon(1e-4));
  CHECK_THAT(verdict, Catch::Contains("No plan meets the deadline"));
  CHECK_THAT(verdict, Catch::Contains("64 GPUs would do"));
  CHECK(found.at("minimum_gpus").elements().front().at("meet_deadline").integer() == 64);
}

TEST_CASE("strategies that frameworks run are compared by their best, a paper's are asked for", "[cli][plan]") {
  auto const names = [](std::vector<std::string> const& more) {
    auto arguments = std::vector<std::string>{"plan", kScenario, "--set", kModel, "--json"};
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

TEST_CASE("a strategy for transformers is not offered for other models, but searched when it is asked for",
          "[cli][plan]") {
  auto const has_megatron = [](std::vector<std::string> const& more) {
    auto arguments = std::vector<std::string>{"plan", in_repository("examples/mlp-10gbe.json"), "--set",
                                              "training.global_batch=16", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto const plans = io::parse({"answer", run_twinstep(arguments).out}).at("plans").elements();
    return std::ranges::any_of(plans, [](io::Node const& plan) { return plan.at("strategy").string() == "megatron"; });
  };
  CHECK_FALSE(has_megatron({"--top", "100"}));
  CHECK(has_megatron({"--strategy", "megatron"}));
}

TEST_CASE("what does not fit is said first, with what would", "[cli][plan]") {
  auto const outcome =
      run_twinstep({"plan", in_repository("examples/llama-3.1-70b-64xh100.json"), "--gpus", "64", "--strategy", "ddp"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("No plan fits on 64 GPUs: ddp needs") && Catch::Contains("(optimizer "));
  CHECK_THAT(outcome.out, !Catch::Contains("Plans that fit"));
}

TEST_CASE("a strategy that fits on no number of GPUs is told once, all of them in JSON", "[cli][plan]") {
  // DDP holds 4 bytes of weights, 4 of gradients and 8 of moments of each of 70.6e9 parameters everywhere.
  auto const question = std::vector<std::string>{
      "plan", in_repository("examples/llama-3.1-70b-64xh100.json"), "--gpus", "64,128", "--strategy", "ddp"};
  auto const text = run_twinstep(question).out;
  auto const table = text.substr(text.find("Strategies that do not fit"));
  CHECK_THAT(table, Catch::Contains("64, 128  ddp       needs 1."));
  CHECK(std::ranges::count(table.substr(0, table.find("\n\n")), '\n') <= 4);
  auto in_json = question;
  in_json.emplace_back("--json");
  CHECK(io::parse({"answer", run_twinstep(in_json).out}).at("rejected").elements().size() == 2);
}

TEST_CASE("an answer says what was searched and what is not modelled", "[cli][plan]") {
  auto text = asked({"--top", "1"}).out;
  std::ranges::replace(text, '\n', ' ');
  CHECK_THAT(text, Catch::Contains("searched: data parallelism"));
  CHECK_THAT(std::string{answer({"--top", "1"}).at("searched").string()}, Catch::Contains("not searched yet"));
}

TEST_CASE("fewer GPUs than asked may hold the model, and more are on the front", "[cli][plan]") {
  auto const found = answer({"--gpus", "8..64", "--tokens", "1T", "--set", "training.global_batch=128"});
  auto const minimum = found.at("minimum_gpus").elements().front();
  CHECK(minimum.at("fit").integer() == 8);
  CHECK(minimum.at("fit_by").at("gpus").integer() == 8);
  // 24 GPUs: of 120 and 144 the nearer to 128 is 120. 40: 120; 48: 144; 56: 112.
  auto const others = found.at("other_batches").elements();
  REQUIRE(others.size() == 2);
  CHECK(others[0].at("global_batch").integer() == 120);
  CHECK(others[1].at("gpus").integer() == 40);
  auto const front = found.at("pareto").elements();
  REQUIRE(front.size() >= 2);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i].at("job").at("time_s").number() > front[i - 1].at("job").at("time_s").number());
    CHECK(front[i].at("job").at("gpu_hours").number() < front[i - 1].at("job").at("gpu_hours").number());
  }
}

TEST_CASE("an unreachable deadline is answered with the soonest end that is reachable", "[cli][plan]") {
  auto const found = answer({"--gpus", "8", "--tokens", "2T", "--deadline", "1 hour"});
  auto const soonest = found.at("minimum_gpus").elements().front().at("soonest");
  // 32 sequences: 32 GPUs at most, and no number of GPUs is faster.
  CHECK(soonest.at("gpus").integer() == 32);
  CHECK(soonest.at("time_s").number() < first_plan(found).at("job").at("time_s").number());
  CHECK_THAT(std::string{found.at("verdict").elements().front().string()}, Catch::Contains("the soonest is"));
}

TEST_CASE("where more GPUs mostly fail the soonest end is on fewer", "[cli][plan]") {
  // On 8 GPUs a failure every 600 s, checkpoints of 60 s and restarts of 600 s: Daly's interval is 230 s, and 0.23 of
  // the time is work. On 16 and 32 GPUs, with at best a half and a quarter of the work each, it is 0.067 and 0.006.
  auto const found = answer({"--gpus", "8", "--tokens", "2T", "--deadline", "1 hour", "--mtbf", "4800 s/GPU",
                             "--checkpoint", "60 s", "--restart", "10 min"});
  auto const soonest = found.at("minimum_gpus").elements().front().at("soonest");
  CHECK(first_plan(found).at("job").at("goodput").number() == Approx(0.227).epsilon(0.01));
  CHECK(soonest.at("gpus").integer() == 8);
  CHECK(soonest.at("time_s").number() == first_plan(found).at("job").at("time_s").number());
}

TEST_CASE("every number of GPUs that is named is answered, with a plan or with the reason why none", "[cli][plan]") {
  auto const counts = answer({"--gpus", "24,8,12,8"}).at("counts").elements();
  REQUIRE(counts.size() == 3);
  CHECK(counts[0].at("gpus").integer() == 8);
  CHECK(counts[0].find("best"));
  CHECK_THAT(std::string{counts[1].at("reason").string()}, Catch::Contains("not whole nodes of 8 GPUs"));
  // 32 sequences: of 24 and 48 the nearer to 32 is 24.
  CHECK(counts[2].at("reason").string() ==
        "a global batch of 32 cannot be divided; nearest that can: 16 and 32; --set training.global_batch=24 can");
}

TEST_CASE("limits that a plan is beyond are marked by how much", "[cli][plan]") {
  auto const found = answer({"--top", "1", "--tokens", "2T", "--price", "2.5 USD/GPU-hour@2026-11", "--power",
                             "1 kW/GPU", "--budget", "1000 USD", "--energy", "1 MWh"});
  auto const job = first_plan(found).at("job");
  auto const misses = job.at("misses");
  CHECK_FALSE(misses.find("late_s"));
  CHECK(misses.at("over_budget").at("amount").number() == Approx(job.at("cost").at("amount").number() - 1000));
  CHECK(misses.at("over_energy_kwh").number() == Approx(job.at("energy_kwh").number() - 1000));
  CHECK(found.at("verdict").elements().size() == 2);
}

TEST_CASE("memory that is left free shuts out the plans that need it", "[cli][plan]") {
  // Two fifths of the GPU's 80 GB may be used; it still is a GPU of 80 GB.
  for (auto const& plan : answer({"--top", "20", "--headroom", "60 %"}).at("plans").elements()) {
    auto const capacity = static_cast<double>(plan.at("capacity_bytes").integer());
    CHECK(static_cast<double>(plan.at("peak_memory_bytes").integer()) <= 0.4 * capacity);
    CHECK(capacity > 75e9);
  }
}

TEST_CASE("what a change would bring is answered beside how it is", "[cli][plan]") {
  // A tenth of the network makes steps slower; the plan as it is stays what it is.
  auto const found = answer({"--gpus", "16", "--what-if", "cluster.node.nic=40 Gb/s"});
  auto const changed = found.at("what_if").elements().front();
  CHECK(changed.at("set").string() == "cluster.node.nic=40 Gb/s");
  auto const step = [&](char const* key) { return changed.at(key).at("step_time_s").number(); };
  CHECK(step("before") == first_plan(found).at("step_time_s").number());
  CHECK(step("after") > step("before"));
  CHECK(changed.at("note").string().empty());
}

TEST_CASE("changes are asked together, and one that changes nothing says what still binds", "[cli][plan]") {
  // On ports of a tenth of the rate a NIC that is twice as fast is no faster; both together are.
  auto const answers =
      answer({"--gpus", "16", "--set", "cluster.fabric.port=40 Gb/s", "--what-if", "cluster.node.nic=800 Gb/s",
              "--what-if", "cluster.node.nic=80 Gb/s,cluster.fabric.port=80 Gb/s"})
          .at("what_if")
          .elements();
  auto const step = [](io::Node const& answer, char const* key) { return answer.at(key).at("step_time_s").number(); };
  REQUIRE(answers.size() == 2);
  CHECK(step(answers[0], "after") == step(answers[0], "before"));
  CHECK_THAT(std::string{answers[0].at("note").string()},
             Catch::Contains("no effect") && Catch::Contains("5.0 GB/s by cluster.fabric.port"));
  CHECK(step(answers[1], "after") < 0.9 * step(answers[1], "before"));
  CHECK(answers[1].at("note").string().empty());
}

TEST_CASE("a question that has no answer says why, and the others are answered", "[cli][plan]") {
  // 32 sequences on 16 GPUs; 24 are too few for each to have as many. A million failures in a thousand days of one GPU
  // are one every 86.4 s, of 16 one every 5.4 s.
  auto const answers =
      answer({"--gpus", "16", "--strategy", "zero-3", "--tokens", "2T", "--checkpoint", "60 s", "--restart", "10 min",
              "--what-if", "training.global_batch=24", "--what-if", "cluster.gpu.failures_per_thousand_days=1e6",
              "--what-if", "cluster.gpu.memory_capacity=2 GB", "--what-if", "training.global_batch=64"})
          .at("what_if")
          .elements();
  REQUIRE(answers.size() == 4);
  auto const note = [&](std::size_t i) { return std::string{answers[i].at("note").string()}; };
  CHECK_THAT(note(0), Catch::Contains("a global batch of 24 cannot be divided"));
  CHECK_THAT(note(1), Catch::Contains("a failure every 5.4 s on 16 GPUs"));
  CHECK_THAT(note(2), Catch::Contains("none fits: zero-3 needs"));
  for (std::size_t i = 0; i < 3; ++i) CHECK_FALSE(answers[i].find("after"));
  CHECK(answers[3].find("after"));
  CHECK_THAT(note(3), Catch::Contains("the batch changes too"));
}

TEST_CASE("the page of an answer has what-ifs, what was searched, and the plan on the fewest GPUs", "[cli][plan]") {
  auto const folder = Scratch{};
  folder.write(
      "plan.json",
      asked({"--gpus", "16", "--strategy", "zero-3", "--what-if", "cluster.fabric.port=40 Gb/s", "--json"}).out);
  REQUIRE(run_twinstep({"report", "plan.json", "--json", "page.json"}, folder.path("")).exit_code == 0);
  auto const page = io::parse_file(folder.path("page.json"));
  CHECK_THAT(std::string{page.at("text").string()}, Catch::Contains("searched: data parallelism"));
  auto sections = std::map<std::string, io::Node>{};
  for (auto const& section : page.at("sections").elements())
    sections.emplace(std::string{section.at("title").string()}, section);
  auto const what_if = sections.at("With cluster.fabric.port=40 Gb/s").at("tables").elements().front();
  CHECK(what_if.at("rows").elements().front().elements().front().string() == "16");
  CHECK_THAT(std::string{sections.at("Fewest GPUs").at("notes").elements().front().string()},
             Catch::StartsWith("8 GPUs at least fit, by zero-3") || Catch::StartsWith("8 GPUs at least fit, by ddp"));
}

TEST_CASE("clusters are compared by their own prices, in tables of 80 columns", "[cli][plan]") {
  auto const clusters = std::vector<std::string>{
      "--cluster", "dgx-h100-ndr",           "--cluster", "dgx-a100-hdr", "--price", "3 USD/GPU-hour@2026-11",
      "--price",   "1 USD/GPU-hour@2026-11", "--tokens",  "2T",           "--gpus",  "16,24,32",
      "--set",     "cluster.node.nics=4"};
  auto found = answer(clusters);
  auto costs = std::map<std::string, double>{{"dgx-h100-ndr, changed", 3}, {"dgx-a100-hdr, changed", 1}};
  auto names = std::set<std::string>{};
  for (auto const& plan : found.at("plans").elements()) {
    auto const name = std::string{plan.at("cluster").string()};
    names.insert(name);
    auto const job = plan.at("job");
    CHECK(job.at("cost").at("amount").number() == Approx(costs.at(name) * job.at("gpu_hours").number()));
  }
  CHECK(names.size() == 2);
  auto text = clusters;
  text.insert(text.end(), {"--deadline", "10d", "--power", "10 kW/node", "--mtbf", "50677 h/GPU", "--checkpoint",
                           "60 s", "--restart", "10 min"});
  auto const outcome = asked(text);
  REQUIRE(outcome.exit_code == 0);
  auto const paste = outcome.out.find("The first one, step");
  REQUIRE(paste != std::string::npos);
  CHECK(widest_line(outcome.out.substr(0, paste)) <= 80);
  CHECK_THAT(outcome.out.substr(0, paste), !Catch::Contains("…"));
  CHECK_THAT(outcome.out, Catch::Contains("with cluster.node.nics=4") && Catch::Contains("Daly"));
}

TEST_CASE("models without sequences are counted in samples", "[cli][plan]") {
  auto const outcome = run_twinstep({"plan", in_repository("examples/mlp-10gbe.json"), "--strategy", "ddp"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("samples/s") && !Catch::Contains("tokens"));
}

TEST_CASE("what a plan searches is not set, and the refusal says how to ask for it", "[cli][plan]") {
  CHECK_THAT(refusal({"--what-if", "cluster.nodes=2"}),
             Catch::Contains("--what-if cluster.nodes=2: ") && Catch::Contains("--gpus"));
  CHECK_THAT(refusal({"--what-if", "cluster.node.nics=4,strategy.name=ddp"}),
             Catch::Contains("--what-if strategy.name=ddp: ") && Catch::Contains("--strategy"));
  CHECK_THAT(refusal({"--what-if", "training.gradient_accumulation=2"}), Catch::Contains("twinstep simulate"));
  CHECK_THAT(refusal({"--set", "training.micro_batch=4"}), Catch::Contains("--set training.micro_batch=4: "));
  CHECK_THAT(refusal({"--set", "strategy=5"}), Catch::Contains("--set strategy=5: ") && Catch::Contains("--strategy"));
}

TEST_CASE("questions that cannot be asked of a plan name the way out", "[cli][plan]") {
  CHECK_THAT(refusal({"--tokens", "1T", "--budget", "2 M USD"}), Catch::Contains("--price"));
  CHECK_THAT(refusal({"--deadline", "30d"}), Catch::Contains("--tokens"));
  CHECK_THAT(refusal({"--gpus", "12"}),
             Catch::Contains("whole nodes of 8 GPUs") && Catch::Contains("nearest that can: 8 and 16"));
  CHECK_THAT(refusal({"--strategy", "fsdp3"}), Catch::Contains("did you mean"));
  CHECK_THAT(refusal({"--tokens", "1T", "--price", "2 USD/GPU-hour@2026-11", "--budget", "1 M EUR"}),
             Catch::Contains("one currency"));
  CHECK_THAT(refusal({"--set", "training.global_batch=null"}), Catch::Contains("global_batch"));
  CHECK_THAT(refusal({"--cluster", "dgx-h100-ndr", "--cluster", "dgx-h100-ndr"}), Catch::Contains("twice"));
  CHECK_THAT(refusal({"--cluster", "dgx-h100-ndx"}),
             Catch::Contains("--cluster: found \"dgx-h100-ndx\"") && Catch::Contains("did you mean"));
  CHECK_THAT(refusal({"--what-if", "cluster.node.nic=8 Gs,cluster.fabric.port=80 Gb/s"}),
             Catch::Contains("--what-if cluster.node.nic=8 Gs: ") && Catch::Contains("unknown unit"));
  CHECK_THAT(refusal({"--what-if", "cluster.node.nib=800 Gb/s"}),
             Catch::Contains("--what-if cluster.node.nib=800 Gb/s: ") && Catch::Contains("did you mean"));
  CHECK_THAT(refusal({"--tokens", "nan"}), Catch::Contains("above zero"));
}

TEST_CASE("numbers of GPUs of a cluster that is given by facts are answered like those of a profile", "[cli][plan]") {
  // The name that is made of the facts counts the nodes, which differ.
  auto const found = answer({"--gpus", "8,16", "--set",
                             R"(cluster={"gpu": "h200", "gpus_per_node": 8, "nodes": 4, "intra": "nvswitch", )"
                             R"("fabric": "efa", "nics_per_node": 8, "nic_gbps": 400})"});
  auto const counts = found.at("counts").elements();
  REQUIRE(counts.size() == 2);
  for (auto const& count : counts) CHECK(count.find("best"));
}

TEST_CASE("a sequence that is longer than the model's positions is refused", "[cli][plan]") {
  auto const gpt = std::string{R"(model={"family": "gpt2", "layers": 2, "hidden": 256, "heads": 4})"};
  CHECK_THAT(refusal({"--set", gpt}),
             Catch::Contains("sequences of 4096 tokens exceed the model's 1024 learned positions; use at most 1024"));
  CHECK_THAT(
      refusal({"--set", gpt, "--set", "training.sequence_length=512", "--what-if", "training.sequence_length=2048"}),
      Catch::StartsWith("twinstep: --what-if training.sequence_length=2048") &&
          Catch::Contains("use at most 1024 tokens"));
}

TEST_CASE("what has no sequences is counted in samples, and names are printed without their control characters",
          "[cli][plan]") {
  auto const outcome = run_twinstep({"plan", in_repository("examples/mlp-10gbe.json"), "--strategy", "ddp", "--set",
                                     "model.name=a\x1b[31mb", "--critical-batch", "1"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("samples/s") && !Catch::Contains("tokens"));
  CHECK_THAT(outcome.err, Catch::Contains("samples is beyond the critical batch") && !Catch::Contains("tokens"));
  CHECK(outcome.out.find('\x1b') == std::string::npos);
}
