#include <cmath>

#include "reports/plan.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

std::optional<double> seconds(std::optional<Seconds> const& time) {
  return time ? std::optional{time->count()} : std::nullopt;
}

void write_money(JsonWriter& json, std::string_view key, std::optional<Money> const& money) {
  json.key(key);
  if (!money) return json.value(nullptr);
  json.begin_object();
  json.member("amount", money->amount);
  json.member("currency", money->currency);
  json.end_object();
}

void write_reliability(JsonWriter& json, std::optional<Reliability> const& reliability) {
  json.key("reliability");
  if (!reliability) return json.value(nullptr);
  json.begin_object();
  json.member("between_failures_of_gpu_s", reliability->between_failures_of_gpu.count());
  json.member("source", reliability->source);
  json.member("restart_s", reliability->restart.count());
  json.member("checkpoint_s", seconds(reliability->checkpoint));
  json.member("storage_bytes_per_s",
              reliability->storage ? std::optional{reliability->storage->count()} : std::nullopt);
  json.end_object();
}

void write_goal(JsonWriter& json, Plans const& plans) {
  auto const& goal = plans.goal;
  json.key("goal");
  json.begin_object();
  json.member("tokens", goal.tokens);
  json.member("deadline_s", seconds(goal.deadline));
  write_money(json, "budget", goal.budget);
  write_array(json, "prices", plans.prices, [](JsonWriter& out, Price const& price) {
    out.begin_object();
    out.member("per_gpu_hour", price.per_gpu_hour.amount);
    out.member("currency", price.per_gpu_hour.currency);
    out.member("date", price.date);
    out.end_object();
  });
  json.member("energy_kwh", goal.most_energy_kwh);
  json.member("watts_per_gpu", goal.watts_per_gpu);
  json.member("pue", goal.pue);
  json.member("critical_batch_tokens", goal.critical_batch);
  write_reliability(json, goal.reliability);
  json.member("batch_tokens", plans.batch_tokens);
  json.end_object();
}

void write_misses(JsonWriter& json, Misses const& misses) {
  json.key("misses");
  json.begin_object();
  json.member("late_s", seconds(misses.late));
  write_money(json, "over_budget", misses.over_budget);
  json.member("over_energy_kwh", misses.over_energy_kwh);
  json.end_object();
}

void write_job(JsonWriter& json, std::optional<Job> const& job, Goal const& goal) {
  json.key("job");
  if (!job) return json.value(nullptr);
  json.begin_object();
  json.member("time_s", job->time.count());
  json.member("gpu_hours", job->gpu_hours);
  write_money(json, "cost", job->cost);
  json.member("energy_kwh", job->energy_kwh);
  json.member("goodput", job->goodput);
  json.member("between_failures_s",
              job->failures ? std::optional{job->failures->between_failures.count()} : std::nullopt);
  json.member("checkpoint_s", job->failures ? std::optional{job->failures->checkpoint.count()} : std::nullopt);
  json.member("checkpoint_interval_s", seconds(job->checkpoints));
  write_misses(json, misses_of(*job, goal));
  json.end_object();
}

void write_plan(JsonWriter& json, PlannedStep const& plan, Goal const& goal) {
  json.begin_object();
  json.member("cluster", plan.cluster);
  json.member("nodes", plan.nodes);
  json.member("gpus", plan.gpus);
  json.member("strategy", plan.strategy);
  json.member("options", plan.options);
  json.member("shard_group", plan.shard_group);
  json.member("micro_batch", plan.micro_batch);
  json.member("accumulation", plan.accumulation);
  json.member("continued", plan.is_continued);
  json.member("recompute", plan.recompute);
  json.member("offload", plan.offload);
  json.member("step_time_s", plan.step_time);
  json.member("exposed_communication_s", plan.exposed);
  json.member("closed_form_s", plan.bound.count());
  json.member("tokens_per_s", plan.token_rate.count());
  json.member("counted", plan.counted);
  json.member("mfu", plan.mfu);
  json.member("peak_memory_bytes", plan.peak);
  json.member("capacity_bytes", plan.capacity);
  write_job(json, plan.job, goal);
  write_values(json, "set", io::texts_of(plan.changes));
  json.end_object();
}

void write_best(JsonWriter& json, std::string_view key, std::optional<PlannedStep> const& plan, Goal const& goal) {
  json.key(key);
  if (!plan) return json.value(nullptr);
  write_plan(json, *plan, goal);
}

void write_count(JsonWriter& json, GpuCount const& count, Goal const& goal) {
  json.begin_object();
  json.member("cluster", count.cluster);
  json.member("gpus", count.gpus);
  write_best(json, "best", count.best, goal);
  json.member("reason", count.reason);
  json.end_object();
}

void write_other_batch(JsonWriter& json, OtherBatch const& other) {
  json.begin_object();
  json.member("cluster", other.cluster);
  json.member("gpus", other.gpus);
  json.member("global_batch", other.global_batch);
  json.end_object();
}

void write_what_if(JsonWriter& json, WhatIf const& question, Goal const& goal) {
  json.begin_object();
  json.member("set", question.setting);
  json.member("cluster", question.cluster);
  json.member("gpus", question.gpus);
  write_best(json, "before", question.before, goal);
  write_best(json, "after", question.after, goal);
  json.member("note", question.note);
  json.end_object();
}

void write_rejected(JsonWriter& json, RejectedPlans const& rejected) {
  json.begin_object();
  json.member("cluster", rejected.cluster);
  json.member("gpus", rejected.gpus);
  json.member("strategy", rejected.strategy);
  json.member("count", rejected.count);
  json.member("others_fit", rejected.others_fit);
  json.member("reason", rejected.reason);
  json.member("brief", rejected.brief);
  json.member("fullness", std::isfinite(rejected.fullness) ? std::optional{rejected.fullness} : std::nullopt);
  json.end_object();
}

void write_minimum(JsonWriter& json, MinimumGpus const& minimum, Goal const& goal) {
  auto const gpus_of = [](std::optional<PlannedStep> const& plan) {
    return plan ? std::optional{plan->gpus} : std::nullopt;
  };
  json.begin_object();
  json.member("cluster", minimum.cluster);
  json.member("fit", gpus_of(minimum.fit));
  json.member("meet_deadline", gpus_of(minimum.meet_deadline));
  write_best(json, "fit_by", minimum.fit, goal);
  write_best(json, "meet_deadline_by", minimum.meet_deadline, goal);
  json.member("searched_to", minimum.most);
  json.key("soonest");
  if (minimum.soonest) {
    json.begin_object();
    json.member("gpus", minimum.soonest->gpus);
    json.member("time_s", minimum.soonest->time.count());
    json.end_object();
  } else {
    json.value(nullptr);
  }
  json.end_object();
}

}  // namespace

std::string plans_json(Plans const& plans, Seconds wall) {
  auto json = JsonWriter{};
  json.begin_object();
  json.member("model", plans.model);
  json.member("scenario", plans.scenario);
  write_values(json, "set", io::texts_of(plans.changes));
  json.member("searched", kSearched);
  json.member("headroom", plans.headroom);
  write_goal(json, plans);
  json.member("ranked_by", plans.ranked_by);
  auto const with_goal = [&](auto const& write) {
    return [&](JsonWriter& out, auto const& each) { write(out, each, plans.goal); };
  };
  write_array(json, "plans", plans.plans, with_goal(write_plan));
  write_array(json, "counts", plans.counts, with_goal(write_count));
  write_array(json, "other_batches", plans.other_batches, write_other_batch);
  write_array(json, "pareto", plans.pareto, with_goal(write_plan));
  write_array(json, "what_if", plans.what_if, with_goal(write_what_if));
  write_array(json, "rejected", plans.rejected, write_rejected);
  write_array(json, "minimum_gpus", plans.minimum, with_goal(write_minimum));
  write_values(json, "verdict", plans.verdict);
  write_values(json, "warnings", plans.warnings);
  json.member("configurations", plans.configurations);
  json.member("simulations", plans.simulations);
  json.member("wall_s", wall.count());
  json.end_object();
  return std::move(json).finish();
}

}  // namespace twinstep::reports
