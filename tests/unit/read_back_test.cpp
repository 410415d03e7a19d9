#include <limits>

#include "reports/accuracy.hpp"
#include "reports/plan.hpp"
#include "reports/shell_text.hpp"
#include "tests/support/catch.hpp"

using namespace twinstep;
using namespace twinstep::reports;
using namespace twinstep::literals;

namespace {

PlannedStep step_on(std::int64_t gpus) {
  return {.cluster = "c",
          .nodes = gpus / 8,
          .gpus = gpus,
          .strategy = "fsdp2",
          .options = "reshard_after_forward false",
          .shard_group = 8,
          .micro_batch = 2,
          .accumulation = 4,
          .is_continued = true,
          .recompute = "full every 2",
          .offload = "none",
          .bound = Seconds{1.25},
          .step_time = 1500_ms,
          .exposed = 20_ms,
          .token_rate = TokensPerSecond{1e5},
          .counted = "samples",
          .mfu = 0.5,
          .peak = 3_GiB,
          .capacity = 4_GiB,
          .job = Job{.goodput = 0.75,
                     .failures = Failures{Seconds{3600}, Seconds{60}, Seconds{300}},
                     .checkpoints = Seconds{600},
                     .time = Seconds{86400},
                     .gpu_hours = 192,
                     .cost = Money{480, "USD"},
                     .energy_kwh = 134.5},
          .changes = io::read_changes("set", {"cluster.nodes=1", R"(strategy={"name": "fsdp2"})"})};
}

/// Plans in which nothing is as it would be without being read.
Plans all_of_it() {
  auto plans = Plans{.model = "m",
                     .scenario = "s.json",
                     .changes = io::read_changes("set", {"a=1"}),
                     .headroom = 0.05,
                     .batch_tokens = 4096};
  plans.counted = "samples";
  plans.goal = {.tokens = 1e12,
                .deadline = Seconds{1e6},
                .budget = Money{1e6, "USD"},
                .most_energy_kwh = 2e5,
                .watts_per_gpu = 700,
                .pue = 1.25,
                .reliability = Reliability{Seconds{1e8}, "a profile", Seconds{300}, Seconds{60}, BytesPerSecond{2e9}},
                .critical_batch = 4e6};
  plans.prices = {{{2.5, "USD"}, "2026-11"}};
  plans.plans = {step_on(8), step_on(16)};
  plans.ranked_by = "cost";
  plans.counts = {{"c", 8, step_on(8), ""}, {"c", 12, std::nullopt, "not whole nodes"}};
  plans.other_batches = {{"c", 24, 48}};
  plans.what_if = {{"x=2", "c", 8, step_on(8), std::nullopt, "a note"}};
  plans.pareto = {step_on(16)};
  plans.rejected = {{"c", 8, "ddp", 3, true, "too large by far", "too large", 1.5},
                    {"c", 8, "megatron", 0, false, "no", "no", std::numeric_limits<double>::infinity()}};
  plans.minimum = {{"c", step_on(8), step_on(16), 64, Soonest{32, Seconds{5e4}}}};
  plans.verdict = {"Too late."};
  plans.warnings = {"mind the batch"};
  plans.configurations = 9;
  plans.simulations = 2;
  return plans;
}

}  // namespace

TEST_CASE("what plan prints as JSON reads back into the same plans", "[reports][plan]") {
  auto const text = plans_json(all_of_it(), Seconds{1});
  CHECK(plans_json(read_plans(io::parse({"plans", text})), Seconds{1}) == text);
}

TEST_CASE("what validate prints as JSON reads back into the same figures", "[reports][validate]") {
  auto accuracy = Accuracy{.what = "2 records", .group = "family", .baseline = "one MFU, %", .sizes = {"all", "few"}};
  accuracy.predictors = {{"ours", {{0.1, 0.2}, {std::nullopt, std::nullopt}}, 3, 0.5, {{7, 0.9, 0.25}}}};
  accuracy.families = {{"f", 2, 1, 0.1, 0.2, 0.99, 0.3}};
  accuracy.records = {{"a", "f", 1024, 5, 4, "us", true, 3, 6, "why"},
                      {"b", "f", std::nullopt, std::nullopt, 4, "s", false, std::nullopt, std::nullopt, ""}};
  accuracy.findings = {"a finding"};
  auto const text = accuracy_json(accuracy);
  CHECK(accuracy_json(read_accuracy(io::parse({"accuracy", text}))) == text);
}

TEST_CASE("words are quoted as a shell needs them, and never speak to the terminal", "[reports]") {
  CHECK(shell_word("runs/a-1.json") == "runs/a-1.json");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(quoted_in_shell("it's") == R"('it'\''s')");
  CHECK(shell_word("a\x1b'b") == R"($'a\x1b\'b')");
}
