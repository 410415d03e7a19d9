#include <limits>

#include <fmt/core.h>

#include "reports/json_reader.hpp"
#include "reports/plan.hpp"

namespace twinstep::reports {
namespace {

std::optional<Seconds> seconds_at(io::Node const& object, std::string_view key) {
  auto const found = number_at(object, key);
  return found ? std::optional{Seconds{*found}} : std::nullopt;
}
std::optional<Money> money_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  if (!found) return std::nullopt;
  return Money{found->at("amount").number(), std::string{found->at("currency").string()}};
}
std::vector<io::Node> elements_at(io::Node const& object, std::string_view key) {
  auto const found = object.find(key);
  return found ? found->elements() : std::vector<io::Node>{};
}
std::vector<std::string> texts_at(io::Node const& object, std::string_view key) {
  auto texts = std::vector<std::string>{};
  for (auto const& each : elements_at(object, key)) texts.emplace_back(each.string());
  return texts;
}

/// A file may say anything; a clock cannot.
Duration step_time_of(io::Node const& plan) {
  constexpr auto kLongest = 8e6;  // s: what the simulated clock holds
  auto const node = plan.at("step_time_s");
  auto const seconds = node.number();
  if (!(seconds >= 0 && seconds <= kLongest))
    node.fail(fmt::format("found {}, expected seconds from 0 to {:.0f}", seconds, kLongest),
              "let twinstep plan write it anew");
  return to_duration(Seconds{seconds});
}

std::optional<Reliability> read_reliability(io::Node const& goal) {
  auto const found = goal.find("reliability");
  if (!found) return std::nullopt;
  auto reliability = Reliability{.between_failures_of_gpu = Seconds{found->at("between_failures_of_gpu_s").number()},
                                 .source = text_at(*found, "source"),
                                 .restart = Seconds{found->at("restart_s").number()},
                                 .checkpoint = seconds_at(*found, "checkpoint_s"),
                                 .storage = {}};
  if (auto const storage = number_at(*found, "storage_bytes_per_s")) reliability.storage = BytesPerSecond{*storage};
  return reliability;
}

Goal read_goal(io::Node const& goal) {
  return {.tokens = number_at(goal, "tokens"),
          .deadline = seconds_at(goal, "deadline_s"),
          .budget = money_at(goal, "budget"),
          .most_energy_kwh = number_at(goal, "energy_kwh"),
          .watts_per_gpu = number_at(goal, "watts_per_gpu"),
          .pue = number_at(goal, "pue").value_or(1),
          .reliability = read_reliability(goal),
          .critical_batch = number_at(goal, "critical_batch_tokens")};
}

std::optional<Job> read_job(io::Node const& plan, Goal const& goal) {
  auto const found = plan.find("job");
  if (!found) return std::nullopt;
  auto job = Job{.goodput = number_at(*found, "goodput").value_or(1),
                 .failures = {},
                 .checkpoints = seconds_at(*found, "checkpoint_interval_s"),
                 .time = Seconds{found->at("time_s").number()},
                 .gpu_hours = found->at("gpu_hours").number(),
                 .cost = money_at(*found, "cost"),
                 .energy_kwh = number_at(*found, "energy_kwh")};
  auto const between = seconds_at(*found, "between_failures_s");
  if (between && job.checkpoints && goal.reliability)
    job.failures = Failures{.between_failures = *between,
                            .checkpoint = seconds_at(*found, "checkpoint_s").value_or(Seconds{}),
                            .restart = goal.reliability->restart};
  return job;
}

PlannedStep read_plan(io::Node const& plan, Goal const& goal) {
  auto out = PlannedStep{.cluster = text_at(plan, "cluster"),
                         .nodes = plan.at("nodes").integer(),
                         .gpus = plan.at("gpus").integer(),
                         .strategy = text_at(plan, "strategy"),
                         .options = text_at(plan, "options"),
                         .shard_group = plan.at("shard_group").integer(),
                         .micro_batch = plan.at("micro_batch").integer(),
                         .accumulation = plan.at("accumulation").integer(),
                         .recompute = text_at(plan, "recompute"),
                         .offload = text_at(plan, "offload"),
                         .bound = seconds_at(plan, "closed_form_s").value_or(Seconds{}),
                         .step_time = step_time_of(plan),
                         .exposed = to_duration(seconds_at(plan, "exposed_communication_s").value_or(Seconds{})),
                         .token_rate = TokensPerSecond{plan.at("tokens_per_s").number()},
                         .mfu = number_at(plan, "mfu"),
                         .peak = Bytes{plan.at("peak_memory_bytes").integer()},
                         .capacity = Bytes{plan.at("capacity_bytes").integer()},
                         .job = read_job(plan, goal),
                         .changes = io::read_changes("set", texts_at(plan, "set"))};
  if (auto const counted = text_at(plan, "counted"); !counted.empty()) out.counted = counted;
  if (auto const continued = plan.find("continued")) out.is_continued = continued->boolean();
  return out;
}

std::optional<PlannedStep> plan_at(io::Node const& object, std::string_view key, Goal const& goal) {
  auto const found = object.find(key);
  return found ? std::optional{read_plan(*found, goal)} : std::nullopt;
}

std::vector<PlannedStep> plans_at(io::Node const& object, std::string_view key, Goal const& goal) {
  auto plans = std::vector<PlannedStep>{};
  for (auto const& each : object.at(key).elements()) plans.push_back(read_plan(each, goal));
  return plans;
}

RejectedPlans read_rejected(io::Node const& rejected) {
  auto out =
      RejectedPlans{.cluster = text_at(rejected, "cluster"),
                    .gpus = rejected.at("gpus").integer(),
                    .strategy = text_at(rejected, "strategy"),
                    .count = rejected.at("count").integer(),
                    .reason = text_at(rejected, "reason"),
                    .brief = text_at(rejected, "brief"),
                    .fullness = number_at(rejected, "fullness").value_or(std::numeric_limits<double>::infinity())};
  if (auto const others = rejected.find("others_fit")) out.others_fit = others->boolean();
  if (out.brief.empty()) out.brief = out.reason;
  return out;
}

MinimumGpus read_minimum(io::Node const& minimum, Goal const& goal) {
  auto out = MinimumGpus{.cluster = text_at(minimum, "cluster"),
                         .fit = plan_at(minimum, "fit_by", goal),
                         .meet_deadline = plan_at(minimum, "meet_deadline_by", goal),
                         .most = minimum.at("searched_to").integer(),
                         .soonest = {}};
  if (auto const soonest = minimum.find("soonest"))
    out.soonest = Soonest{soonest->at("gpus").integer(), Seconds{soonest->at("time_s").number()}};
  return out;
}

/// What is asked of the plans: everything beside them.
void read_question(io::Node const& document, Plans& plans) {
  auto const goal = document.at("goal");
  plans.model = text_at(document, "model");
  plans.scenario = text_at(document, "scenario");
  plans.changes = io::read_changes("set", texts_at(document, "set"));
  plans.headroom = number_at(document, "headroom").value_or(0);
  if (auto const batch = goal.find("batch_tokens")) plans.batch_tokens = batch->integer();
  plans.goal = read_goal(goal);
  for (auto const& price : elements_at(goal, "prices"))
    plans.prices.push_back({{price.at("per_gpu_hour").number(), text_at(price, "currency")}, text_at(price, "date")});
}

}  // namespace

Plans read_plans(io::Node const& document) {
  auto plans = Plans{};
  read_question(document, plans);
  auto const& goal = plans.goal;
  plans.ranked_by = text_at(document, "ranked_by");
  plans.plans = plans_at(document, "plans", goal);
  if (!plans.plans.empty()) plans.counted = plans.plans.front().counted;
  plans.pareto = plans_at(document, "pareto", goal);
  for (auto const& each : elements_at(document, "counts"))
    plans.counts.push_back(
        {text_at(each, "cluster"), each.at("gpus").integer(), plan_at(each, "best", goal), text_at(each, "reason")});
  for (auto const& each : elements_at(document, "other_batches"))
    plans.other_batches.push_back(
        {text_at(each, "cluster"), each.at("gpus").integer(), each.at("global_batch").integer()});
  for (auto const& each : elements_at(document, "what_if"))
    plans.what_if.push_back({text_at(each, "set"), text_at(each, "cluster"), each.at("gpus").integer(),
                             plan_at(each, "before", goal), plan_at(each, "after", goal), text_at(each, "note")});
  for (auto const& each : document.at("rejected").elements()) plans.rejected.push_back(read_rejected(each));
  for (auto const& each : document.at("minimum_gpus").elements()) plans.minimum.push_back(read_minimum(each, goal));
  plans.verdict = texts_at(document, "verdict");
  plans.warnings = texts_at(document, "warnings");
  plans.configurations = static_cast<std::size_t>(document.at("configurations").integer());
  plans.simulations = static_cast<std::size_t>(document.at("simulations").integer());
  return plans;
}

}  // namespace twinstep::reports
