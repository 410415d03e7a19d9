#include <map>

#include "sim/io/document.hpp"
#include "tests/cli/run_twinstep.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/trace_import.hpp"

using namespace twinstep;
using namespace twinstep::tests;

namespace {

/// The small scenario, simulated with more arguments.
Outcome simulate(Scratch const& folder, std::vector<std::string> const& more = {}) {
  folder.write("small.json", small_scenario());
  auto arguments = std::vector<std::string>{"simulate", "small.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_twinstep(arguments, folder.path(""));
}

io::Node json_answer(Scratch const& folder, std::vector<std::string> more = {}) {
  more.push_back("--json");
  auto const outcome = simulate(folder, more);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return io::parse({"simulate --json", outcome.out});
}

/// Whether the key is there and has no value.
bool is_null(io::Node const& object, std::string_view key) {
  return object.has(key) && !object.find(key);
}

/// The integral over time of a counter of GB/s, for all ranks of all tracks.
double counted(io::Node const& trace, std::string_view counter) {
  auto const tracks = trace.at("twinstep").at("tracks").elements();
  auto last = std::map<std::int64_t, std::pair<double, double>>{};  // by process: microseconds, GB/s
  auto bytes = 0.0;
  for (auto const& event : trace.at("traceEvents").elements()) {
    if (event.at("ph").string() != "C" || event.at("name").string() != counter) continue;
    auto const track = event.at("pid").integer();
    auto& [time, rate] = last[track];
    auto const now = event.at("ts").number();
    bytes += (now - time) * rate * 1e3 * tracks.at(static_cast<std::size_t>(track - 1)).at("multiplicity").number();
    time = now;
    rate = event.at("args").at("GB/s").number();
  }
  return bytes;
}

/// The line of wall_s is the only one that tells runs apart.
std::string without_wall_time(std::string text) {
  auto const at = text.find("\"wall_s\"");
  REQUIRE(at != std::string::npos);
  return text.erase(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("simulate --json is one document with the promised keys and types", "[cli][simulate]") {
  auto const folder = Scratch{};
  auto const answer = json_answer(folder);
  for (auto const* const key : {"step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "mfu",
                                "hfu", "peak_memory_bytes", "exposed_communication_s", "events", "wall_s"}) {
    INFO(key);
    CHECK(answer.at(key).number() >= 0);
  }
  CHECK(answer.at("feasible").boolean());
  CHECK(answer.at("fits").boolean());
  CHECK_FALSE(answer.at("calibration").string().empty());
  CHECK(is_null(answer, "interval"));  // nothing was measured, so there is no basis for one
  CHECK(answer.at("bytes_on_wire").at("intra").integer() > 0);
  CHECK(answer.at("bytes_on_wire").at("inter").integer() > 0);

  auto held = std::int64_t{0};
  for (auto const& [category, bytes] : answer.at("memory").members()) held += bytes.integer();
  CHECK(held == answer.at("peak_memory_bytes").integer());

  auto seconds = 0.0;
  for (auto const& part : answer.at("breakdown").elements()) {
    CHECK_FALSE(part.at("name").string().empty());
    seconds += part.at("seconds").number();
  }
  CHECK(seconds == Approx(answer.at("step_time_s").number()).epsilon(1e-9));
}

TEST_CASE("simulate says what is in use beside what is allocated, and what the caching allocator did",
          "[cli][simulate]") {
  auto const folder = Scratch{};
  auto const answer = json_answer(folder);
  auto const allocated = answer.at("peak_memory_bytes").integer();
  auto const reserved = answer.at("reserved_memory_bytes").integer();
  CHECK(reserved >= allocated);
  auto const allocator = answer.at("memory_allocator");
  CHECK(allocator.at("segments").integer() > 0);
  CHECK(allocator.at("retries").integer() == 0);
  CHECK(allocator.at("fragmentation_bytes").integer() >= reserved - allocated);
  for (auto const* const where : {"loss", "backward"}) {
    CHECK(answer.at("memory_candidates").at(where).at("bytes").integer() <= allocated);
    CHECK_FALSE(answer.at("memory_candidates").at(where).at("at").string().empty());
  }
  CHECK(is_null(answer, "memory_warning"));

  // As segments that grow, a pool and stream has one at most: on three streams six.
  auto const expandable = json_answer(folder, {"--set", "cluster.allocator.expandable_segments=true"});
  CHECK(expandable.at("memory_allocator").at("segments").integer() <= 6);
  CHECK(expandable.at("memory_allocator").at("segments").integer() < allocator.at("segments").integer());
  CHECK(expandable.at("peak_memory_bytes").integer() == allocated);
}

TEST_CASE("rates follow from the step's time and the batch", "[cli][simulate]") {
  // 16 sequences of 512 tokens are 8,192 tokens, on 16 GPUs.
  auto const folder = Scratch{};
  auto const answer = json_answer(folder);
  auto const time = answer.at("step_time_s").number();
  CHECK(answer.at("tokens").integer() == 8192);
  CHECK(answer.at("world_size").integer() == 16);
  CHECK(answer.at("tokens_per_s").number() == Approx(8192 / time));
  CHECK(answer.at("tokens_per_s_per_gpu").number() == Approx(512 / time));
}

TEST_CASE("the same question gets the same bytes but for the time that answering took", "[cli][simulate]") {
  auto const folder = Scratch{};
  CHECK(simulate(folder).out == simulate(folder).out);
  auto const first = simulate(folder, {"--json", "--trace", "a.json"});
  auto const second = simulate(folder, {"--json", "--trace", "b.json"});
  CHECK(without_wall_time(first.out) == without_wall_time(second.out));
  CHECK(read_file(folder.path("a.json")) == read_file(folder.path("b.json")));
}

TEST_CASE("--set changes the question", "[cli][simulate]") {
  auto const folder = Scratch{};
  auto const answer = json_answer(folder, {"--set", "cluster.nodes=4", "--set", "training.global_batch=64"});
  CHECK(answer.at("world_size").integer() == 32);
  CHECK(answer.at("tokens").integer() == 64 * 512);
  CHECK(json_answer(folder, {"--set", "strategy.name=ddp"}).at("world_size").integer() == 16);
}

TEST_CASE("a scenario runs on the software of its strategy's framework, unless it names another", "[cli][simulate]") {
  auto const folder = Scratch{};
  auto const answer = [&](std::string const& strategy, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--set", "strategy.name=" + strategy});
    return json_answer(folder, std::move(more));
  };
  auto const said = [](io::Node const& of) { return std::string{of.at("calibration").string()}; };
  auto const time = [](io::Node const& of) { return of.at("step_time_s").number(); };

  auto const chosen = answer("ddp");
  CHECK_THAT(said(chosen), Catch::EndsWith("; software: pytorch-eager, that of the strategy's framework"));
  CHECK_THAT(said(answer("deepspeed-3")),
             Catch::EndsWith("; software: pytorch-eager, that of the strategy's framework"));
  CHECK_THAT(said(answer("megatron")), Catch::EndsWith("; software: megatron, that of the strategy's framework"));
  auto const named = answer("ddp", {"--set", "cluster.stack=pytorch-eager"});
  CHECK_THAT(said(named), Catch::EndsWith("; software: pytorch-eager, as \"cluster.stack\" says"));
  CHECK(time(named) == time(chosen));
  // The machine alone moves the least bytes.
  auto const alone = answer("ddp", {"--set", "cluster.stack=none"});
  CHECK_THAT(said(alone), Catch::EndsWith("; software: none, as \"cluster.stack\" says"));
  CHECK(time(alone) < time(chosen));
}

TEST_CASE("a step that does not fit is an answer with its numbers", "[cli][simulate]") {
  // 100 layers of 12 × 8192² parameters are 8e10; ddp holds 16 bytes of each, 1.3 TB, on GPUs of 80 GB.
  auto const folder = Scratch{};
  auto const answer =
      json_answer(folder, {"--set", "model.layers=100", "--set", "model.hidden=8192", "--set", "strategy.name=ddp",
                           "--set", R"(cluster.gpu={"memory_capacity": "80 GB"})"});
  CHECK_FALSE(answer.at("fits").boolean());
  CHECK(answer.at("feasible").boolean());
  auto const why = answer.at("does_not_fit");
  CHECK(why.at("needs_bytes").integer() == answer.at("peak_memory_bytes").integer());
  CHECK(why.at("has_bytes").integer() == 80'000'000'000);
  CHECK(why.at("needs_bytes").integer() > why.at("has_bytes").integer());
  CHECK_FALSE(why.at("sentence").string().empty());
  // Even sharded over 16 GPUs the states take 80 GB of each, but eight such shards lie easily in a host's 2 TB.
  CHECK(answer.at("way_out").string().starts_with("fsdp1 + offload parameters would fit ("));
}

TEST_CASE("a model without sequences is not told to shorten them", "[cli][simulate]") {
  // 2^24 samples of 4,096 numbers are 256 GiB in fp32, however they are cut into micro-batches; an RTX 4090 has 24.
  auto const outcome =
      run_twinstep({"simulate", "examples/mlp-10gbe.json", "--set", R"(strategy={"name": "zero-3"})", "--set",
                    "training.micro_batch=16777216", "--set", "training.global_batch=67108864", "--json"});
  CHECK(io::parse({"simulate --json", outcome.out}).at("way_out").string() ==
        "no strategy fits on these GPUs, at any micro-batch, however much is recomputed or offloaded: use more of "
        "them");
}

TEST_CASE("a step that does not fit comes with the nearest strategy that does", "[cli][simulate]") {
  // LLaMA-2-7B: 16 bytes of 6.74e9 parameters are 108 GB. Sharded over 32 ranks they are 3.4 GB; the same framework
  // does that.
  auto const outcome =
      run_twinstep({"simulate", "examples/llama-2-7b-4xh100.json", "--set", R"(strategy={"name": "ddp"})", "--json"});
  auto const answer = io::parse({"simulate --json", outcome.out});
  CHECK_FALSE(answer.at("fits").boolean());
  CHECK(answer.at("way_out").string().starts_with("fsdp1 would fit ("));
}

TEST_CASE("counts that do not divide are an answer", "[cli][simulate]") {
  auto const folder = Scratch{};
  auto const answer = json_answer(folder, {"--set", "training.global_batch=17"});
  CHECK_FALSE(answer.at("feasible").boolean());
  CHECK(is_null(answer, "step_time_s"));
  CHECK_THAT(std::string{answer.at("reason").string()}, Catch::Contains("17 does not divide"));
  auto const table = simulate(folder, {"--set", "training.global_batch=17"});
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, Catch::Contains("cannot run"));
}

TEST_CASE("several strategies are several runs of one document, and a trace each", "[cli][simulate]") {
  auto const folder = Scratch{};
  auto const answer = json_answer(
      folder, {"--set", R"(strategy=[{"name": "ddp"}, {"name": "ddp", "bucket": "1 MiB"}, {"name": "ddp"}])", "--trace",
               "step.trace.json"});
  CHECK(answer.at("runs").elements().size() == 3);
  CHECK(folder.files() == std::vector<std::string>{"small.json", "step.ddp-2.trace.json",
                                                   "step.ddp-bucket-1-MiB.trace.json", "step.ddp.trace.json"});
}

TEST_CASE("viewers show traces as they are, and their counters sum up to what --json says of the wire",
          "[cli][simulate]") {
  auto const strategy = GENERATE(as<std::string>{}, R"({"name": "zero-3"})", R"({"name": "fsdp2", "shard_group": 8})",
                                 R"({"name": "deepspeed-3", "offload": {"optimizer": "cpu", "parameters": "cpu"}})");
  CAPTURE(strategy);
  auto const folder = Scratch{};
  auto const answer = json_answer(folder, {"--set", "strategy=" + strategy, "--trace", "t.json"});
  auto const trace = io::parse_file(folder.path("t.json"));
  auto const imported = tests::import_trace(trace);
  CHECK(imported.complaints == std::vector<std::string>{});
  CHECK_FALSE(imported.arrows.empty());
  for (auto const& arrow : imported.arrows) CHECK(arrow.from == "issue");
  // Counters have whole nanoseconds and kilobytes a second: a thousandth is more than both lose.
  auto const wire = answer.at("bytes_on_wire");
  CHECK(counted(trace, "sent inside the node") == Approx(wire.at("intra").number()).epsilon(1e-3));
  CHECK(counted(trace, "sent over NICs") == Approx(wire.at("inter").number()).epsilon(1e-3));
}

TEST_CASE("output that is no terminal has no colours, whatever the terminal", "[cli][simulate]") {
  auto const folder = Scratch{};
  CHECK(simulate(folder).out.find('\x1b') == std::string::npos);
}

TEST_CASE("what compares folded steps is not asked for beside another fidelity", "[cli]") {
  for (auto const& more : std::vector<std::vector<std::string>>{{"--report", "page.html"}, {"--why"}}) {
    auto const folder = Scratch{};
    folder.write("small.json", small_scenario());
    auto arguments = std::vector<std::string>{"simulate", "small.json", "--fidelity", "exact"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto const outcome = run_twinstep(arguments, folder.path(""));
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("--fidelity exact: found with " + more.front()) &&
                                Catch::Contains("leave --fidelity out"));
    CHECK(folder.files() == std::vector<std::string>{"small.json"});
  }
}
