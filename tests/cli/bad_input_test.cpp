#include <algorithm>

#include "tests/cli/refusals.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep::tests;

namespace {

/// A mistake and what the one line on standard error must say: where it is, and the parts of the sentence.
struct Mistake {
  std::string what;
  std::string from;  ///< in the small scenario
  std::string to;
  std::string at;    ///< the part of `to` that the line must point at; none: the line names another place
  std::string path;  ///< of JSON; none where there is no document yet
  std::vector<std::string> says;
};

/// "bad.json:2:51: ", lines and columns counted from 1.
std::string place_of(std::string const& text, std::size_t offset) {
  auto const before = std::string_view{text}.substr(0, offset);
  auto const line = 1 + std::ranges::count(before, '\n');
  auto const column = offset - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return "bad.json:" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

/// A refusal whose line begins with `place`.
void check_refusal_at(Outcome const& outcome, std::string const& place, std::vector<std::string> const& says) {
  INFO(outcome.err);
  CHECK(outcome.err.starts_with("twinstep: " + place));
  check_refusal(outcome, says);
}

}  // namespace

TEST_CASE("a mistake in a scenario is one line with its place, what was found, and the way out", "[cli]") {
  auto const nodes = std::string{R"("nodes": 2)"};
  auto const micro_batch = std::string{R"("micro_batch": 1)"};
  auto const strategy = std::string{R"({"name": "zero-3"})"};
  auto const memory = std::string{"/cluster/node/gpu/memory_capacity"};
  auto const mistake = GENERATE_COPY(values<Mistake>({
      {"unknown key",
       micro_batch,
       R"("micro_bach": 1)",
       R"("micro_bach")",
       "/training",
       {R"(unknown key "micro_bach")", R"(did you mean "micro_batch"?)"}},
      {"unknown key at the top",
       R"("training")",
       R"("trainig")",
       R"("trainig")",
       "",
       {R"(unknown key "trainig")", R"(did you mean "training"?)"}},
      {"the beginning of a key",
       nodes,
       R"("gpu": {"memory": "80 GB"})",
       R"("memory")",
       "/cluster/node/gpu",
       {R"(unknown key "memory")", R"(did you mean "memory_)"}},
      {"missing key", "\"strategy\": " + strategy, R"("comment": "")", "", "", {R"(found no "strategy")"}},
      {"wrong type",
       micro_batch,
       R"("micro_batch": "1")",
       R"("1")",
       "/training/micro_batch",
       {R"(found "1")", "expected a whole number without quotes"}},
      {"object instead of a word",
       R"("bf16")",
       "{}",
       "{}",
       "/training/precision",
       {"found an object", "expected text in double quotes"}},
      {"missing unit",
       nodes,
       R"("gpu": {"memory_capacity": "80"})",
       R"("80")",
       memory,
       {R"("80" has no unit)", R"(such as "80 GB")"}},
      {"number instead of a quantity",
       nodes,
       R"("gpu": {"memory_capacity": 80})",
       "80",
       memory,
       {"80 has no unit", R"(such as "80 GB")"}},
      {"wrong dimension",
       nodes,
       R"("gpu": {"memory_capacity": "450 Gb/s"})",
       R"("450 Gb/s")",
       memory,
       {R"("450 Gb/s" is a rate (56.25 GB/s))", R"(expected a memory size such as "80 GB")"}},
      {"bits for bytes",
       nodes,
       R"("gpu": {"memory_capacity": "80 Gb"})",
       R"("80 Gb")",
       memory,
       {R"(unknown unit "Gb")", R"(did you mean "GB"?)"}},
      {"negative rate",
       nodes,
       R"("node": {"nic": "-1 Gb/s"})",
       R"("-1 Gb/s")",
       "/cluster/node/nic",
       {R"("-1 Gb/s" is negative)", R"(expected a bandwidth such as "450 GB/s")"}},
      {"zero rate",
       nodes,
       R"("node": {"nic": "0 Gb/s"})",
       R"("0 Gb/s")",
       "/cluster/node/nic",
       {R"("0 Gb/s" is zero)", "expected a bandwidth"}},
      {"a rate that is no number",
       nodes,
       R"("node": {"nic": "nan Gb/s"})",
       R"("nan Gb/s")",
       "/cluster/node/nic",
       {R"("nan Gb/s" is not a number)"}},
      {"an endless rate",
       nodes,
       R"("node": {"nic": "inf Gb/s"})",
       R"("inf Gb/s")",
       "/cluster/node/nic",
       {R"("inf Gb/s" is not a number)"}},
      {"NaN", nodes, R"("nodes": NaN)", "NaN", "", {R"(found "NaN")", "JSON has no comments, NaN"}},
      {"no nodes", nodes, R"("nodes": 0)", "0", "/cluster/nodes", {"found 0", "at least 1"}},
      {"negative nodes", nodes, R"("nodes": -3)", "-3", "/cluster/nodes", {"found -3", "at least 1"}},
      {"half a node", nodes, R"("nodes": 1.5)", "1.5", "/cluster/nodes", {"found 1.5", "whole number"}},
      {"more nodes than the fabric connects",
       nodes,
       R"("nodes": 1000000)",
       "1000000",
       "/cluster/nodes",
       {"found 1000000 nodes", R"(fabric "infiniband-ndr" connects)", "use fewer nodes"}},
      {"a number too large for anything", nodes, R"("nodes": 1e300)", "1e300", "/cluster/nodes", {"1e+300"}},
      {"no micro-batch", micro_batch, R"("micro_batch": 0)", "0", "/training/micro_batch", {"found 0", "at least 1"}},
      {"batches that contradict each other",
       micro_batch,
       R"("micro_batch": 1, "gradient_accumulation": 2)",
       "2",
       "/training/gradient_accumulation",
       {"found 2 micro-batches of 1 on 16 ranks, expected the global batch of 16", "leave one of the three out"}},
      {"heads that do not divide",
       R"("heads": 8)",
       R"("heads": 7)",
       "7",
       "/model/heads",
       {"7 heads for hidden = 1024", "divides it"}},
      {"a model that names no layers",
       R"({"family": "llama", "layers": 2)",
       R"({"family": "llama")",
       "{",
       "/model",
       {"names no layers", R"(give "layers": 1 or more)"}},
      {"a model of no layers",
       R"("layers": 2)",
       R"("layers": 0)",
       "0",
       "/model/layers",
       {"names no layers (0)", R"(give "layers": 1 or more)"}},
      {"a model file that is not there",
       R"({"family": "llama", "layers": 2, "hidden": 1024, "heads": 8})",
       R"({"hf_config": "nowhere/config.json"})",
       "",
       "",
       {"nowhere/config.json", "no such file"}},
      {"unknown profile",
       R"("dgx-h100-ndr")",
       R"("dgx-h100-nrd")",
       R"("dgx-h100-nrd")",
       "/cluster/profile",
       {R"(found "dgx-h100-nrd")", R"(did you mean "dgx-h100-ndr"?)"}},
      {"unknown strategy",
       strategy,
       R"({"name": "zero-4"})",
       R"("zero-4")",
       "/strategy/name",
       {R"(found "zero-4")", "naive, ddp, zero-1, zero-2, zero-3, fsdp1", "did you mean"}},
      {"unknown precision", R"("bf16")", R"("bf61")", R"("bf61")", "/training/precision", {R"(found "bf61")", "bf16"}},
      {"a type that nothing trains in", R"("bf16")", R"("fp8")", R"("fp8")", "/training/precision", {"fp8", "bf16"}},
      {"more ranks than GPUs",
       strategy,
       R"({"name": "zero-3", "ranks": 64})",
       "64",
       "/strategy/ranks",
       {"64 ranks", "the cluster has 16", "use at most 16"}},
      {"buckets for a strategy without",
       strategy,
       R"({"name": "zero-3", "bucket": "1 MiB"})",
       R"("1 MiB")",
       "/strategy/bucket",
       {"found bucket, which zero-3 does not have", "leave it out, or use ddp, zero-1, zero-2"}},
      {"an option of another framework",
       strategy,
       R"({"name": "fsdp2", "backward_prefetch": "BACKWARD_PRE"})",
       R"("BACKWARD_PRE")",
       "/strategy/backward_prefetch",
       {"which fsdp2 does not have", "use fsdp1"}},
      {"offload for a strategy that has none",
       strategy,
       R"({"name": "ddp", "offload": {"optimizer": "cpu"}})",
       R"("cpu")",
       "/strategy/offload/optimizer",
       {"found an offloaded optimizer for ddp", "use deepspeed-1"}},
      {"recompute every 0 layers",
       strategy,
       R"({"name": "zero-3", "recompute": {"every": 0}})",
       "0}",
       "/strategy/recompute/every",
       {"found 0", "at least 1"}},
      {"a segment larger than the model",
       strategy,
       R"({"name": "zero-3", "recompute": {"segment": 3}})",
       "3}",
       "/strategy/recompute/segment",
       {"found 3, expected at most the model's 2 layers", "lower it"}},
      {"hybrid sharding without its groups",
       strategy,
       R"({"name": "fsdp1", "sharding": "HYBRID_SHARD"})",
       R"("HYBRID_SHARD")",
       "/strategy/sharding",
       {R"(without "shard_group")", "the GPUs of a node"}},
      {"a user's file that is not there",
       strategy,
       R"({"deepspeed_config": "nowhere.json"})",
       "",
       "",
       {"nowhere.json", "no such file"}},
      {"two users' files",
       strategy,
       R"({"deepspeed_config": "a.json", "accelerate_config": "b.yaml"})",
       R"("b.yaml")",
       "/strategy/accelerate_config",
       {R"(a second file beside "deepspeed_config")", "name one"}},
      {"duplicate key",
       nodes,
       R"("nodes": 2, "nodes": 3)",
       R"("nodes": 3)",
       "",
       {R"(the key "nodes" a second time)", "remove one of the two"}},
      {"missing comma", strategy, R"({"name": "zero-3" "ranks": 4})", R"("ranks")", "", {R"(expected ",")"}},
      {"two documents", strategy, R"({"name": "zero-3"}} {)", " {", "", {"nothing after the document"}},
  }));
  INFO(mistake.what);
  auto const folder = Scratch{};
  auto const scenario = small_scenario();
  auto const text = with(scenario, mistake.from, mistake.to);
  folder.write("bad.json", text);
  auto place = std::string{};
  if (!mistake.at.empty()) {
    auto const blanks = mistake.at.find_first_not_of(' ');
    place = place_of(text, text.find(mistake.at, scenario.find(mistake.from)) + blanks);
  }
  if (!mistake.path.empty()) place += mistake.path + ": ";
  check_refusal_at(run_twinstep({"simulate", "bad.json", "--json", "--trace", "trace.json"}, folder.path("")), place,
                   mistake.says);
  CHECK(folder.files() == std::vector<std::string>{"bad.json"});
}

TEST_CASE("a file that is no JSON document is refused where it ends to be one", "[cli]") {
  struct Case {
    std::string text;
    std::string place;
    std::string says;
  };
  auto const whole = small_scenario();
  auto const each = GENERATE_COPY(values<Case>({
      {"", "bad.json:1:1: ", "found an empty text"},
      {" \n ", "bad.json:1:1: ", "found an empty text"},
      {whole.substr(0, whole.size() / 2), "bad.json:4:", "the text is cut short"},
      {"\"only a word\"", "bad.json:1:1: ", "expected an object"},
      {"[]", "bad.json:1:1: ", "expected an object"},
      {"{\"a\": \"\xff\"}", "bad.json:1:", "UTF-8"},
  }));
  auto const folder = Scratch{};
  folder.write("bad.json", each.text);
  check_refusal_at(run_twinstep({"simulate", "bad.json"}, folder.path("")), each.place, {each.says});
}

TEST_CASE("ten million brackets are refused after the 128th", "[cli]") {
  auto const folder = Scratch{};
  auto const bracket = GENERATE(R"([)", R"({"a":)");
  auto text = std::string{};
  while (text.size() < 10'000'000) text += bracket;
  folder.write("bad.json", text);
  check_refusal_at(run_twinstep({"simulate", "bad.json"}, folder.path("")),
                   "bad.json:1:", {"nested more than 128 deep"});
}

TEST_CASE("a file that is not there and a folder are named", "[cli]") {
  auto const folder = Scratch{};
  check_refusal_at(run_twinstep({"simulate", "nowhere.json"}, folder.path("")),
                   "nowhere.json: ", {"found no such file"});
  check_refusal_at(run_twinstep({"simulate", "."}, folder.path("")), ".: ", {"found a directory", "name a file in it"});
}

TEST_CASE("a --set that cannot be made is named as it was written", "[cli]") {
  struct Case {
    std::string setting;
    std::vector<std::string> says;
  };
  auto const each = GENERATE(values<Case>({
      {"cluster.nodes", {"found no \"=\"", "cluster.nodes=16"}},
      {"=3", {"empty name"}},
      {"cluster.nods=3", {"/cluster: ", "unknown key \"nods\"", "did you mean \"node"}},
      {"nodes=3", {"unknown key \"nodes\"", "known: cluster, model, training, strategy"}},
      {"cluster.nodes=many", {"/cluster/nodes: ", "found \"many\"", "expected a whole number"}},
      {"cluster.nodes=0", {"/cluster/nodes: ", "at least 1"}},
      {"strategy=[]", {"/strategy: ", "name at least one"}},
      {"strategy=zero-3", {"/strategy: ", R"(write it like {"name": "zero-3"})"}},
      {"model=llama-2-7b", {"/model: ", R"(write it like {"hf_config": "PATH/config.json"})"}},
  }));
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  check_refusal_at(run_twinstep({"simulate", "good.json", "--set", each.setting}, folder.path("")),
                   "--set " + each.setting + ": ", each.says);
}

TEST_CASE("a trace that could not be written is refused before anything is computed", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  check_refusal_at(run_twinstep({"simulate", "good.json", "--trace", "nowhere/trace.json"}, folder.path("")),
                   "--trace nowhere/trace.json: ", {"found no directory \"nowhere\"", "make it"});
  check_refusal_at(run_twinstep({"simulate", "good.json", "--trace", "."}, folder.path("")),
                   "--trace .: ", {"found a directory", "name a file in it"});
  CHECK(folder.files() == std::vector<std::string>{"good.json"});
}

TEST_CASE("compare refuses what is not a timeline", "[cli]") {
  auto const folder = Scratch{};
  folder.write("good.json", small_scenario());
  auto const way_out = std::string{"make one with: twinstep simulate SCENARIO.json --trace FILE"};
  check_refusal_at(run_twinstep({"compare", "good.json", "good.json"}, folder.path("")),
                   "good.json:1:1: ", {"found no timeline", way_out});
  check_refusal_at(run_twinstep({"compare", "nowhere.json", "good.json"}, folder.path("")),
                   "nowhere.json: ", {"found no such file"});
}

TEST_CASE("a command line that cannot be understood is answered with the nearest one", "[cli]") {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> says;
  };
  auto const each = GENERATE(values<Case>({
      {{}, {"A subcommand is required", "see twinstep --help"}},
      {{"simulat", "x.json"}, {"found no subcommand called \"simulat\"", "did you mean \"simulate\"?"}},
      {{"frobnicate"}, {"found no subcommand called \"frobnicate\"", "known: simulate, report"}},
      {{"profiles", "lst"}, {"found no subcommand called \"lst\"", "did you mean \"list\"?"}},
      {{"profiles", "show"}, {"PROFILE is required"}},
      {{"simulate"}, {"SCENARIO is required"}},
      {{"simulate", "x.json", "--jsno"}, {"--jsno", "did you mean --json?"}},
      {{"simulate", "x.json", "y.json"}, {"y.json"}},
      {{"compare", "x.json"}, {"B is required", "see twinstep compare --help"}},
      {{"profiles", "show", "dgx-h10"}, {"\"dgx-h10\"", "did you mean \"dgx-h100"}},
      {{"profiles", "check", "nowhere.json"}, {"nowhere.json", "found no such file"}},
  }));
  check_refusal_at(run_twinstep(each.arguments), "", each.says);
}

TEST_CASE("NVMe is refused on nodes without drives, and simulated on those with", "[cli]") {
  auto const folder = Scratch{};
  folder.write("bad.json", small_scenario());
  auto const on = [&](std::string const& cluster) {
    return run_twinstep({"simulate", "bad.json", "--set", "cluster.profile=" + cluster, "--set",
                         R"(strategy={"name": "deepspeed-3", "offload": {"optimizer": "nvme"}})"},
                        folder.path(""));
  };
  CHECK(on("dgx-h100-ndr").exit_code == 0);
  auto const refused = on("l40s-8-roce-200");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("l40s-8 describes no drives") && Catch::Contains(R"(use "cpu", or give)"));
}

TEST_CASE("a GPU and a type that do not go together are told where they were put together", "[cli]") {
  // A T4 has no bf16, which the small scenario asks for.
  auto const folder = Scratch{};
  folder.write("small.json", small_scenario());
  folder.write("short.json", with(small_scenario(), R"(, "precision": "bf16")", ""));
  auto const refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "simulate");
    return run_twinstep(arguments, folder.path(""));
  };
  auto const says = std::vector<std::string>{"t4-16 has no rate for bf16", "training.precision", "or use another GPU"};
  check_refusal_at(refused({"small.json", "--set", "cluster.gpu=t4"}), "--set cluster.gpu=t4: /cluster/gpu: ", says);
  check_refusal_at(refused({"short.json", "--set", "cluster.node.gpu=t4"}),
                   "--set cluster.node.gpu=t4: /cluster/node/gpu: ", says);
  check_refusal_at(refused({"small.json", "--set", "cluster.gpu=t4", "--set", "training.precision=bf16"}),
                   "--set training.precision=bf16: /training/precision: ", says);
}
