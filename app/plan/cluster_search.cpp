#include "app/plan/cluster_search.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app::plan {
namespace {

/// What reads the training alone: the strategy that takes every setting of it.
constexpr auto kAnyStrategy = R"(strategy={"name": "fsdp2"})";
constexpr auto kOneSequence = "training.micro_batch=1";
constexpr auto kAnyAccumulation = "training.gradient_accumulation=null";
constexpr auto kLeastGoodput = 1e-3;
constexpr auto kEnoughForTime = Effort{.plans = 1, .most_simulations = 12};

/// Bytes of a checkpoint: parameters as they are held, masters and moments, once.
Bytes checkpoint_bytes(strategies::ModelSpec const& model, strategies::Plan const& plan) {
  using enum strategies::Optimizer;
  auto const moment = plan.optimizer == kAdamW8Bit ? Bytes{1} : size_of(master_type(plan));
  auto const moments = plan.optimizer == kSgdMomentum ? 1 : 2;
  auto const master = has_master_copy(plan) ? size_of(master_type(plan)) : Bytes{};
  return (size_of(held_type(plan)) + master + moment * moments) * parameter_count(model);
}

/// Ranks that share one copy of what is sharded; 1 where every rank holds everything.
std::int64_t group_of(strategies::Plan const& plan) {
  using enum strategies::StrategyName;
  auto const is_replicated = plan.strategy == kNaive || plan.strategy == kDdp;
  return is_replicated ? 1 : strategies::shard_ranks(plan);
}

/// The options of a strategy that no column shows: "reshard_after_forward false", "HYBRID_SHARD".
std::string other_options(StrategyChoice const& strategy) {
  auto const json = io::parse({"strategy", strategy_json(strategy), false});
  auto text = std::string{};
  for (auto const& [key, value] : json.members()) {
    if (key == "name" || key == "shard_group" || key == "offload") continue;
    auto part = key == "sharding" ? std::string{value.string()} : fmt::format("{} ", key);
    if (value.is(io::Node::Type::kBoolean)) part += value.boolean() ? "true" : "false";
    if (value.is(io::Node::Type::kNumber)) part += fmt::format("{}", value.integer());
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string offload_text(strategies::OffloadOptions const& offload) {
  using enum strategies::OffloadOptions::Place;
  auto parts = std::vector<std::string_view>{};
  if (offload.parameters != kNone) parts.push_back("parameters");
  if (offload.optimizer != kNone && offload.parameters == kNone) parts.push_back("optimizer");
  if (offload.activations) parts.push_back("activations");
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, " + "));
}

io::Node document_of(std::string const& path, std::vector<std::string> const& settings) {
  auto document = io::parse_file(path);
  for (auto const& setting : settings) document = io::with_setting(document, setting);
  return document;
}

void check_batch(io::Node const& training) {
  if (!training.find("global_batch"))
    training.fail("found no \"global_batch\", which a plan divides among GPUs", "add it, in sequences");
}

/// "needs at least 91.2 GiB, has 79.6 GiB".
std::string too_large(Bytes least, Bytes capacity) {
  return fmt::format("needs at least {}, has {}", reports::memory_text(least), reports::memory_text(capacity));
}

}  // namespace

ClusterSearch::ClusterSearch(PlanOptions const& options, std::optional<std::string> const& cluster,
                             std::optional<std::string> const& price, std::function<void()> progress)
    : options_{options}, cluster_{cluster}, progress_{std::move(progress)} {
  check_batch(document_of(options.scenario, options.settings).at("training"));
  base_ = read_scenarios(options.scenario, settings_for(0)).front();
  auto const gpus_per_node = base_.cluster.node.gpus;
  goal_ = read_goal(options, gpus_per_node);
  if (price) price_ = read_price(*price, gpus_per_node);
  if (goal_.budget && price_ && goal_.budget->currency != price_->per_gpu_hour.currency)
    throw InputError{fmt::format("--budget: found {}, but --price is in {}; use one currency", goal_.budget->currency,
                                 price_->per_gpu_hour.currency)};
  counts_ = asked_counts();
}

std::int64_t ClusterSearch::batch_tokens() const {
  return base_.plan.global_batch * base_.plan.sequence_length;
}

/// On the cluster's own number of nodes for 0.
std::vector<std::string> ClusterSearch::settings_for(std::int64_t nodes) const {
  auto settings = options_.settings;
  if (cluster_) settings.push_back(fmt::format("cluster={}", *cluster_));
  if (nodes > 0) settings.push_back(fmt::format("cluster.nodes={}", nodes));
  settings.insert(settings.end(), {kOneSequence, kAnyAccumulation, kAnyStrategy});
  return settings;
}

std::vector<std::int64_t> ClusterSearch::possible_counts() const {
  auto const most_nodes = std::max(base_.cluster.fabric.capacity(), base_.cluster.nodes);
  auto counts = std::vector<std::int64_t>{};
  for (std::int64_t nodes = 1; nodes <= most_nodes; ++nodes)
    if (auto const gpus = nodes * base_.cluster.node.gpus; base_.plan.global_batch % gpus == 0) counts.push_back(gpus);
  return counts;
}

std::vector<std::int64_t> ClusterSearch::asked_counts() const {
  auto const own = base_.cluster.gpus();
  auto const ranges = options_.gpus ? read_gpus(*options_.gpus) : std::vector<GpuRange>{{own, own}};
  auto const possible = possible_counts();
  auto counts = std::vector<std::int64_t>{};
  for (auto const& [least, most] : ranges)
    for (auto const gpus : possible)
      if (gpus >= least && gpus <= most && std::ranges::find(counts, gpus) == counts.end()) counts.push_back(gpus);
  if (!counts.empty()) return counts;
  auto nearest = possible;
  std::ranges::stable_sort(nearest, {}, [&](std::int64_t gpus) { return std::abs(gpus - ranges.front().least); });
  nearest.resize(std::min<std::size_t>(nearest.size(), 3));
  std::ranges::sort(nearest);
  throw InputError{fmt::format(
      "--gpus: found {}, expected whole nodes of {} GPUs, as many as {} has, that divide the global batch "
      "of {}; {}",
      options_.gpus.value_or(std::to_string(own)), base_.cluster.node.gpus, base_.cluster.name, base_.plan.global_batch,
      nearest.empty() ? "change the global batch" : fmt::format("use {}", fmt::join(nearest, ", ")))};
}

ClusterSearch::Searched& ClusterSearch::estimated(std::int64_t gpus) {
  if (auto const known = searched_.find(gpus); known != searched_.end()) return known->second;
  auto const settings = settings_for(gpus / base_.cluster.node.gpus);
  auto question = Question{read_scenarios(options_.scenario, settings).front(),
                           document_of(options_.scenario, settings).at("training"), options_.strategies};
  auto space = estimate_all(question);
  configurations_ += space.candidates.size() + space.too_large.size();
  return searched_.emplace(gpus, Searched{std::move(question), std::move(space), {}}).first->second;
}

ClusterSearch::Searched& ClusterSearch::search(std::int64_t gpus, Effort const& effort) {
  auto& searched = estimated(gpus);
  if (searched.found.plans.size() >= effort.plans) return searched;
  auto const before = searched.found.simulations;
  searched.found = simulate_best(searched.question, searched.space, effort, progress_);
  simulations_ += searched.found.simulations;
  searched.found.simulations += before;
  return searched;
}

reports::PlannedStep ClusterSearch::planned(Question const& question, Simulated const& simulated) const {
  auto const& [candidate, summary] = simulated;
  auto const& cluster = question.scenario.cluster;
  auto out = reports::PlannedStep{.cluster = cluster.name,
                                  .nodes = cluster.nodes,
                                  .gpus = cluster.gpus(),
                                  .strategy = std::string{name_of(candidate.plan.strategy)},
                                  .options = other_options(candidate.strategy),
                                  .shard_group = group_of(candidate.plan),
                                  .micro_batch = candidate.work.micro_batch,
                                  .accumulation = strategies::accumulation(candidate.plan),
                                  .recompute = recompute_text(candidate.work),
                                  .offload = offload_text(candidate.plan.offload),
                                  .estimate = candidate.estimate.step_time,
                                  .step_time = summary.step_time,
                                  .token_rate = summary.token_rate,
                                  .mfu = summary.mfu,
                                  .peak = summary.reserved_peak.total(),
                                  .capacity = summary.capacity};
  out.job = reports::job_of({.step_time = summary.step_time,
                             .tokens = summary.tokens,
                             .gpus = out.gpus,
                             .states = checkpoint_bytes(question.scenario.model, candidate.plan)},
                            goal_, price_);
  if (out.job && !(out.job->goodput > kLeastGoodput))
    throw InputError{fmt::format(
        "--mtbf: found a failure every {:.0f} s on {} GPUs, less than checkpoints of {:.0f} s and restarts of {:.0f} s "
        "leave; no job would end: give a longer time between failures, or shorter ones for those",
        out.job->failures->between_failures.count(), out.gpus, out.job->failures->checkpoint.count(),
        out.job->failures->restart.count())};
  out.settings = options_.settings;
  if (cluster_) out.settings.push_back(fmt::format("cluster={}", *cluster_));
  out.settings.push_back(fmt::format("cluster.nodes={}", out.nodes));
  out.settings.push_back(fmt::format("training.micro_batch={}", out.micro_batch));
  if (document_of(options_.scenario, options_.settings).at("training").has("gradient_accumulation"))
    out.settings.emplace_back(kAnyAccumulation);
  out.settings.push_back(fmt::format("strategy={}", strategy_json(candidate.strategy, candidate.work)));
  return out;
}

std::vector<reports::PlannedStep> ClusterSearch::plans_on(std::int64_t gpus, Effort const& effort) {
  auto const& searched = search(gpus, effort);
  auto plans = std::vector<reports::PlannedStep>{};
  for (auto const& each : searched.found.plans) plans.push_back(planned(searched.question, each));
  return plans;
}

std::vector<reports::RejectedPlans> ClusterSearch::rejected_on(std::int64_t gpus) {
  auto const& [question, space, found] = estimated(gpus);
  auto const& cluster = question.scenario.cluster;
  auto rejected = std::vector<reports::RejectedPlans>{};
  auto nearest = std::vector<Bytes>{};
  auto const count = [&](Candidate const& candidate, Bytes needs, std::string const& reason) {
    auto const name = name_of(candidate.plan.strategy);
    auto place = std::ranges::find(rejected, name, &reports::RejectedPlans::strategy) - rejected.begin();
    if (place == std::ssize(rejected)) {
      rejected.push_back({cluster.name, gpus, std::string{name}, 0, reason});
      nearest.push_back(needs);
    }
    auto& group = rejected[static_cast<std::size_t>(place)];
    ++group.count;
    if (needs < nearest[static_cast<std::size_t>(place)]) {
      nearest[static_cast<std::size_t>(place)] = needs;
      group.reason = reason;
    }
  };
  for (auto const& each : found.too_large)
    count(each.candidate, each.summary.needed().total(), reports::why_it_does_not_fit(each.summary));
  for (auto const& each : space.too_large)
    count(each, each.estimate.least_memory,
          too_large(each.estimate.least_memory, cluster.node.gpu.memory_capacity.value));
  for (auto const& [strategy, reason] : space.refused) rejected.push_back({cluster.name, gpus, strategy, 0, reason});
  return rejected;
}

bool ClusterSearch::ends_in_time(std::int64_t gpus) {
  auto const& space = estimated(gpus).space;
  if (space.candidates.empty()) return false;
  auto const tokens = batch_tokens();
  auto const hoped = Seconds{space.candidates.front().estimate.step_time.count() / kEstimateMargin};
  auto without_failures = goal_;
  without_failures.reliability.reset();
  auto const could =
      reports::job_of({.step_time = to_duration(hoped), .tokens = tokens, .gpus = gpus}, without_failures, price_);
  if (!could || !reports::meets_deadline(*could, goal_)) return false;
  auto const plans = plans_on(gpus, kEnoughForTime);
  return !plans.empty() && reports::meets_deadline(*plans.front().job, goal_);
}

reports::MinimumGpus ClusterSearch::minimum() {
  auto const possible = possible_counts();
  auto out = reports::MinimumGpus{.cluster = base_.cluster.name, .most = possible.back()};
  for (auto const gpus : possible) {
    auto const& [question, space, found] = estimated(gpus);
    if (!out.fit && (!found.plans.empty() || fits_at_all(question, space, progress_))) out.fit = gpus;
    if (out.fit && goal_.deadline && ends_in_time(gpus)) out.meet_deadline = gpus;
    if (out.fit && (!goal_.deadline || out.meet_deadline)) break;
  }
  return out;
}

}  // namespace twinstep::app::plan
