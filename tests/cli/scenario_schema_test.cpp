#include <filesystem>

#include "sim/io/document.hpp"
#include "strategies/plan/plan.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/schema.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

std::string const& schema() {
  static auto const text = read_file(in_repository("explore/ask/schema/scenario.schema.json"));
  return text;
}

bool keeps_schema(std::string const& text) {
  return tests::schema_violations(text, schema()).empty();
}

template <class Enum>
std::vector<std::string> names() {
  auto const views = all_names<Enum>();
  return {views.begin(), views.end()};
}

std::vector<std::string> words(io::Node const& enumeration) {
  auto list = std::vector<std::string>{};
  for (auto const& word : enumeration.at("enum").elements()) list.emplace_back(word.string());
  return list;
}

}  // namespace

TEST_CASE("every example names its schema, of a scenario or a sweep, and keeps it", "[cli][schema]") {
  for (auto const& entry : std::filesystem::directory_iterator{in_repository("examples")}) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    auto const text = read_file(entry.path().string());
    auto const example = io::parse({entry.path().string(), text});
    auto const named = entry.path().parent_path() / example.at("$schema").string();
    for (auto const& violation : tests::schema_violations(text, read_file(named.string()))) FAIL_CHECK(violation);
    auto const ours = example.has("base") ? in_repository("explore/sweep/schema") : in_repository("explore/ask/schema");
    CHECK(std::filesystem::equivalent(named.parent_path(), ours));
  }
}

TEST_CASE("the schema knows the strategies and the recomputations that the program knows", "[cli][schema]") {
  auto const strategy = io::parse({"schema", schema()}).at("definitions").at("strategy").at("properties");
  CHECK(words(strategy.at("name")) == names<strategies::StrategyName>());
  auto const ways = strategy.at("recompute").at("oneOf").elements();
  auto recomputations = names<strategies::Recompute>();
  CHECK(words(ways.at(1).at("properties").at("what")) == recomputations);
  recomputations.emplace_back("sqrt");
  CHECK(words(ways.at(0)) == recomputations);
}

TEST_CASE("the schema knows the words that options have", "[cli][schema]") {
  auto const definitions = io::parse({"schema", schema()}).at("definitions");
  auto const strategy = definitions.at("strategy").at("properties");
  auto const training = definitions.at("training").at("properties");
  using strategies::DdpOptions;
  using strategies::Fsdp1Options;
  CHECK(words(strategy.at("comm_hook")) == names<DdpOptions::Hook>());
  CHECK(words(strategy.at("sharding")) == names<Fsdp1Options::Sharding>());
  CHECK(words(strategy.at("backward_prefetch")) == names<Fsdp1Options::Prefetch>());
  CHECK(words(strategy.at("accumulation")) == names<strategies::FsdpAccumulation>());
  auto const offload = strategy.at("offload").at("properties");
  CHECK(words(offload.at("optimizer")) == names<strategies::OffloadPlace>());
  CHECK(words(offload.at("parameters")) == names<strategies::OffloadPlace>());
  CHECK(words(training.at("optimizer").at("anyOf").elements().front()) == names<strategies::Optimizer>());
  CHECK(words(training.at("activation")) == names<strategies::Activation>());
  CHECK(words(training.at("cross_entropy")) == names<strategies::CrossEntropy>());
  CHECK(words(training.at("norms")) == names<strategies::NormKernels>());
  CHECK(words(training.at("scaling")) == names<strategies::Scaling>());
}

TEST_CASE("what the schema allows is what the program takes", "[cli][schema]") {
  struct Case {
    std::string from;
    std::string to;
    bool is_right;
  };
  auto const profile = std::string{R"({"profile": "dgx-h100-ndr", "nodes": 2})"};
  auto const strategy = std::string{R"({"name": "zero-3"})"};
  auto const each = GENERATE_COPY(values<Case>({
      {R"("cluster")", R"("$schema": "x", "comment": "y", "cluster")", true},
      {profile, R"("dgx-h100-ndr")", true},
      {profile, R"({"profile": "dgx-h100-ndr", "node": {"nic": "200 Gb/s"}, "gpu": "h200-sxm-141"})", true},
      {profile, R"({"nodes": 2})", false},
      {profile, R"({"profile": "dgx-h100-ndr", "nods": 2})", false},
      {profile, R"({"profile": "dgx-h100-ndr", "nodes": 0})", false},
      {strategy, R"([{"name": "ddp", "bucket": "100 MiB", "first_bucket": "1 MB"}, {"name": "naive", "ranks": 4}])",
       true},
      {strategy, R"([])", false},
      {strategy, R"({"recompute": "full"})", false},
      {strategy, R"({"name": "zero-4"})", false},
      {strategy, R"({"name": "ddp", "bucket": "100"})", false},
      {strategy, R"({"name": "ddp", "bucket": 100})", false},
      {R"("micro_batch": 1)", R"("micro_batch": 0)", false},
      {R"("bf16")", R"("fp8")", false},
      {R"("precision": "bf16")", R"("optimizer": "adamw-fused", "flash_attention": false)", true},
      {R"("precision": "bf16")", R"("optimizer": "adam")", false},
      {R"("precision": "bf16")", R"("optimizer": "adamw-foreach", "clip_gradients": true)", true},
      {R"("precision": "bf16")", R"("activation": "fused", "cross_entropy": "chunked", "norms": "eager")", true},
      {R"("precision": "bf16")", R"("linear_type": "fp8", "scaling": "row-wise")", true},
      {R"("precision": "bf16")", R"("linear_type": "int4")", false},
      {R"("global_batch": 16)", R"("gradient_accumulation": 2)", true},
      {strategy, R"([{"name": "zero-3", "recompute": "sqrt"}, {"name": "zero-3", "recompute": {"every": 2}}])", true},
      {strategy, R"({"name": "zero-3", "recompute": {"every": 0}})", false},
      {strategy, R"({"name": "zero-3", "recompute": {"evry": 2}})", false},
      {strategy, R"([{"name": "ddp", "static_graph": true}, {"name": "ddp", "comm_hook": "bf16"}])", true},
      {strategy, R"({"name": "ddp", "static_graph": "yes"})", false},
      {strategy, R"({"name": "ddp", "offload": {"where": "cpu"}})", false},
      {strategy, R"({"name": "fsdp2", "reshard_after_forward": 1})", false},
      {R"("strategy")", R"("strategies")", false},
  }));
  auto const text = with(small_scenario(), each.from, each.to);
  INFO(text);
  auto const folder = Scratch{};
  CHECK(keeps_schema(text) == each.is_right);
  CHECK(run_twinstep({"simulate", folder.write("scenario.json", text)}).exit_code == (each.is_right ? 0 : 2));
}
