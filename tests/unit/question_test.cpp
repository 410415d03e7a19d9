#include <map>

#include "explore/ask/answered.hpp"
#include "sim/base/input_error.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::explore;

namespace {

constexpr auto kTwoNodes = R"({
  "cluster": {"profile": "flat-switch", "nodes": 2, "stack": "none"},
  "model": {"family": "mlp", "widths": [64, 64]},
  "training": {"micro_batch": 1, "global_batch": 4, "precision": "fp32"},
  "strategy": {"name": "ddp"}
})";

Question two_nodes() {
  return question_of(io::parse({"here/scenario.json", kTwoNodes}));
}

Scenario only(Question const& question) {
  return read_scenarios(question).front();
}

}  // namespace

TEST_CASE("a variation of a question leaves the question as it was", "[ask]") {
  auto const asked = two_nodes();
  auto const varied = asked.with("training.global_batch", io::value_node(std::int64_t{8}));
  // Of 8 samples, and of 4, two ranks take one at a time.
  CHECK(strategies::accumulation(only(varied).plan) == 4);
  CHECK(strategies::accumulation(only(asked).plan) == 2);
  CHECK(varied.folder == "here");
}

TEST_CASE("variations share the cluster on which they agree, and its machine, and have their own where they differ",
          "[ask]") {
  auto const asked = two_nodes();
  auto const scenario = only(asked);
  auto const of_other_batch = only(asked.with("training.global_batch", io::value_node(std::int64_t{8})));
  CHECK(of_other_batch.cluster == scenario.cluster);
  CHECK(machine_of(of_other_batch) == machine_of(scenario));
  // Written again, the same value is the same cluster.
  CHECK(only(asked.with("cluster.nodes", io::value_node(std::int64_t{2}))).cluster == scenario.cluster);
  auto const on_one_node = only(asked.with("cluster.nodes", io::value_node(std::int64_t{1})));
  CHECK(on_one_node.cluster != scenario.cluster);
  CHECK(on_one_node.cluster->nodes() == 1);
  CHECK(machine_of(on_one_node) != machine_of(scenario));
}

TEST_CASE("a question needs no disk: its caller may hold the texts of the files that it names", "[ask]") {
  auto const texts = std::map<std::string, std::string>{
      {"/nowhere/model/config.json",
       R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 128})"},
      {"/nowhere/ds.json", R"({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 3})"},
      {"/nowhere/mine.json", R"({"profile": "dgx-h100-ndr", "name": "mine"})"}};
  auto asked = std::vector<std::string>{};
  auto question = question_of(io::parse({"/nowhere/question.json",
                                         R"({"cluster": "mine.json", "model": {"hf_config": "model/config.json"},
                                             "training": {"sequence_length": 128},
                                             "strategy": {"deepspeed_config": "ds.json"}})"}));
  question.parts = std::make_shared<Parts>([&](std::string const& path) {
    asked.push_back(path);
    return texts.at(path);
  });
  auto const scenario = read_scenarios(question).front();
  CHECK(scenario.cluster->name == "mine");
  CHECK(scenario.plan.batch.micro_batch == 3);
  CHECK(asked.size() == texts.size());  // each once
}

TEST_CASE("what is wrong with a change names the option in which it stands", "[ask]") {
  auto const error_of = [](io::Change const& change) {
    try {
      static_cast<void>(read_scenarios(two_nodes().with({change})));
    } catch (InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK_THAT(error_of(io::read_change("--what-if", "cluster.nodes=0")),
             Catch::StartsWith("--what-if cluster.nodes=0: /cluster/nodes: "));
  CHECK_THAT(error_of(io::change_to("cluster.nodes", io::value_node(std::int64_t{0}))),
             Catch::StartsWith("--set cluster.nodes=0: /cluster/nodes: "));
  CHECK_THAT(error_of(io::change_to("strategy", io::value_node({{"name", io::value_node("dpd")}}))),
             Catch::StartsWith(R"(--set strategy={"name": "dpd"}: /strategy/name: )"));
}

TEST_CASE("a change prints as what makes it when it is typed", "[ask]") {
  auto const text = [](io::Node const& value) { return text_of(io::change_to("a.b", value)); };
  CHECK(text(io::value_node(std::int64_t{16})) == "a.b=16");
  CHECK(text(io::value_node(true)) == "a.b=true");
  CHECK(text(io::value_node(nullptr)) == "a.b=null");
  CHECK(text(io::value_node("800 Gb/s")) == "a.b=800 Gb/s");
  // Texts that would be read as something else stand in quotes.
  CHECK(text(io::value_node("16")) == R"(a.b="16")");
  CHECK(text(io::value_node("{x")) == R"(a.b="{x")");
  CHECK(text(io::value_node({{"name", io::value_node("ddp")}})) == R"(a.b={"name": "ddp"})");
  // As it was typed, not as it was read.
  CHECK(text_of(io::read_change("--set", "a= [1,2]")) == "a= [1,2]");
}
