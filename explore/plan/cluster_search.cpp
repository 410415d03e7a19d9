#include "explore/plan/cluster_search.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "explore/plan/planned_step.hpp"
#include "explore/plan/rejected.hpp"
#include "sim/base/input_error.hpp"
#include "strategies/compile.hpp"

namespace twinstep::explore::plan {
namespace {

/// A GPU with less memory plans as one that is not filled to the brim.
void leave_free(double share, hardware::Gpu& gpu) {
  auto& capacity = gpu.memory_capacity.value;
  capacity = to_bytes(static_cast<double>(capacity.count()) * (1 - share));
}

/// What is searched replaced by what any training takes: the strategy is the one that takes every setting of it.
explore::Question neutral(explore::Question const& question) {
  return question.with("training.micro_batch", io::value_node(std::int64_t{1}))
      .with("training.gradient_accumulation", io::value_node(nullptr))
      .with("strategy", io::value_node({{"name", io::value_node("fsdp2")}}));
}

void check_batch(io::Node const& training) {
  if (!training.find("global_batch"))
    training.fail("found no \"global_batch\", which a plan divides among GPUs", "add it, in sequences");
}

/// Strategy, micro-batch and accumulation are searched; what stands there is replaced, but not whatever it is.
void check_replaced(io::Node const& document) {
  if (auto const strategy = document.find("strategy"); strategy && !strategy->is(io::Node::Type::kArray))
    static_cast<void>(strategy->at("name").string());
  for (auto const* const key : {"micro_batch", "gradient_accumulation"})
    if (auto const value = document.at("training").find(key)) static_cast<void>(value->integer_from(1));
}

/// The question on a cluster in place of its own, which comes before changes of it.
explore::Question on_cluster(explore::Question question, io::Node const& cluster) {
  question.changes.insert(question.changes.begin(), {"cluster", cluster});
  return question;
}

}  // namespace

std::string lost_job_text(reports::PlannedStep const& plan) {
  auto const& failures = *plan.job->failures;
  return fmt::format(
      "how often GPUs fail (--mtbf, or their profile): found a failure every {:.3g} s on {} GPUs, less than "
      "checkpoints of {:.3g} s and restarts of {:.3g} s leave; no job would end: give a longer time between failures, "
      "or shorter "
      "ones for those",
      failures.between_failures.count(), plan.gpus, failures.checkpoint.count(), failures.restart.count());
}

ClusterSearch::ClusterSearch(PlanQuestion const& asked, explore::Question question,
                             std::optional<HourlyPrice> const& price, std::function<void()> progress)
    : strategies_{asked.strategies},
      question_{std::move(question)},
      progress_{std::move(progress)},
      headroom_{asked.headroom} {
  auto const document = question_.changed();
  check_batch(document.at("training"));
  check_replaced(document);
  base_ = read_scenarios(neutral(question_)).front();
  if (auto const obstacle = strategies::find_long_sequence(base_.model, base_.plan))
    document.at("training").fail(obstacle->reason, obstacle->way_out);
  auto const& node = base_.cluster->node();
  goal_ = goal_on(asked.goal, node);
  if (price) price_ = price_on(*price, node);
  counts_ = GpuCounts{*base_.cluster, base_.plan.batch.global_batch};
  auto const own = base_.cluster->gpus();
  asked_ = counts_.asked(asked.gpus.empty() ? std::vector<GpuRange>{{own, own}} : asked.gpus);
  possible_ = counts_.possible();
  leave_out_what_cannot_be_read();
}

/// On few GPUs a large batch may be more than can be simulated; the reader says so.
void ClusterSearch::leave_out_what_cannot_be_read() {
  auto const nodes = [&](std::int64_t gpus) { return gpus / base_.cluster->node().gpus; };
  auto first = possible_.begin();
  for (; first != possible_.end(); ++first) try {
      static_cast<void>(read_scenarios(neutral(on_nodes(nodes(*first)))));
      break;
    } catch (InputError const& error) {
      if (std::erase(asked_.searched, *first) > 0) asked_.refused.push_back({*first, error.what()});
    }
  possible_.erase(possible_.begin(), first);
}

std::int64_t ClusterSearch::batch_tokens() const {
  return base_.plan.batch.global_batch * base_.plan.batch.sequence_length;
}

explore::Question ClusterSearch::on_nodes(std::int64_t nodes) const {
  return question_.with("cluster.nodes", io::value_node(nodes));
}

ClusterSearch::Searched& ClusterSearch::bounded(std::int64_t gpus) {
  if (auto const known = searched_.find(gpus); known != searched_.end()) return known->second;
  auto const asked = neutral(on_nodes(gpus / base_.cluster->node().gpus));
  auto question = Setup{read_scenarios(asked).front(), asked.changed().at("training"), strategies_};
  auto cluster = *question.scenario.cluster;
  cluster.name = base_.cluster->name;  // a name made of facts has the number of nodes in it
  leave_free(headroom_, cluster.node().gpu);
  question.scenario.cluster = std::make_shared<hardware::Cluster const>(std::move(cluster));
  auto space = bound_all(question);
  configurations_ += space.candidates.size() + space.too_large.size();
  return searched_.emplace(gpus, Searched{std::move(question), std::move(space), {}, 0}).first->second;
}

ClusterSearch::Searched& ClusterSearch::search(std::int64_t gpus, std::size_t of_each) {
  auto& searched = bounded(gpus);
  if (searched.of_each >= of_each) return searched;
  searched.found = simulate_best(searched.question.scenario, searched.space, of_each, progress_);
  searched.of_each = of_each;
  simulations_ += searched.found.simulations;
  return searched;
}

std::optional<reports::Job> ClusterSearch::job_of(Setup const& question, Candidate const& candidate,
                                                  Duration step_time) const {
  return reports::job_of({.step_time = step_time,
                          .tokens = batch_tokens(),
                          .gpus = question.scenario.cluster->gpus(),
                          .states = checkpoint_bytes(question.scenario.model, candidate.plan)},
                         goal_, price_);
}

reports::PlannedStep ClusterSearch::planned(Setup const& question, Simulated const& simulated) const {
  auto const& [candidate, summary] = simulated;
  auto out = planned_step(*question.scenario.cluster, simulated);
  out.capacity = base_.cluster->node().gpu.memory_capacity.value;
  out.job = job_of(question, candidate, summary.step_time);
  auto variation = on_nodes(out.nodes).with("training.micro_batch", io::value_node(out.micro_batch));
  if (question_.changed().at("training").has("gradient_accumulation"))
    variation = variation.with("training.gradient_accumulation", io::value_node(nullptr));
  out.changes = variation.with("strategy", strategy_node(candidate.plan)).changes;
  return out;
}

std::vector<reports::PlannedStep> ClusterSearch::plans_on(std::int64_t gpus, std::size_t of_each) {
  auto const& searched = search(gpus, of_each);
  auto plans = std::vector<reports::PlannedStep>{};
  for (auto const& each : searched.found.plans) plans.push_back(planned(searched.question, each));
  return plans;
}

std::optional<reports::PlannedStep> ClusterSearch::same_plan(reports::PlannedStep const& other) {
  auto const& [question, space, found, of_each] = bounded(other.gpus);
  auto const candidate = std::ranges::find_if(space.candidates, [&](Candidate const& each) {
    return each.plan.batch.micro_batch == other.micro_batch && name_of(each.plan.strategy) == other.strategy &&
           text_of(io::change_to("strategy", strategy_node(each.plan))) == text_of(other.changes.back());
  });
  if (candidate == space.candidates.end()) return std::nullopt;
  auto const simulated = simulate(question.scenario, *candidate);
  ++simulations_;
  if (!simulated || !fits_with_ease(simulated->summary)) return std::nullopt;
  return planned(question, *simulated);
}

std::vector<reports::RejectedPlans> ClusterSearch::rejected_on(std::int64_t gpus) {
  auto const& [question, space, found, of_each] = bounded(gpus);
  auto rejected = Rejected{base_.cluster->name, gpus};
  for (auto const& each : found.too_large) rejected.add(each);
  for (auto const* const bounds : {&found.cannot_fit, &space.too_large})
    for (auto const& each : *bounds) rejected.add(each, space.capacity);
  for (auto const& each : found.plans) rejected.found(each.candidate.plan.strategy.name());
  for (auto const& [strategy, reason] : space.refused) rejected.add(strategy, reason);
  return std::move(rejected).by_nearness([&](Candidate const& nearest) {
    if (progress_) progress_();
    return simulate(question.scenario, nearest);
  });
}

std::string ClusterSearch::nearest_reason(std::int64_t gpus) {
  auto const rejected = rejected_on(gpus);
  return rejected.empty() ? "" : fmt::format("{} {}", rejected.front().strategy, rejected.front().brief);
}

std::optional<std::string> ClusterSearch::why_not_searched(std::int64_t gpus) const {
  if (std::ranges::find(possible_, gpus) != possible_.end()) return std::nullopt;
  auto const refused = std::ranges::find(asked_.refused, gpus, &RefusedCount::gpus);
  return refused != asked_.refused.end() ? refused->reason : counts_.why_not(gpus);
}

std::optional<Seconds> ClusterSearch::job_bound(std::int64_t gpus) {
  auto const& candidates = bounded(gpus).space.candidates;
  auto const least =
      std::ranges::min_element(candidates, {}, [](Candidate const& each) { return each.bound.step_time; });
  if (least == candidates.end()) return std::nullopt;
  auto without_failures = goal_;
  without_failures.reliability.reset();
  return reports::job_of({.step_time = least->bound.step_time, .tokens = batch_tokens(), .gpus = gpus},
                         without_failures, price_)
      ->time;
}

std::optional<reports::PlannedStep> ClusterSearch::plan_in_time(std::int64_t gpus) {
  auto const least = job_bound(gpus);
  if (!least || *least > *goal_.deadline) return std::nullopt;
  auto plans = plans_on(gpus, 1);
  if (plans.empty() || reports::misses_of(*plans.front().job, goal_).late) return std::nullopt;
  return std::move(plans.front());
}

/// The more GPUs, the more often one fails: the fastest step may not end the job first.
std::optional<reports::Soonest> ClusterSearch::soonest() {
  auto order = std::vector<std::pair<Seconds, std::int64_t>>{};
  for (auto const gpus : possible_)
    if (auto const least = job_bound(gpus)) order.emplace_back(*least, gpus);
  std::ranges::sort(order);
  auto soonest = std::optional<reports::Soonest>{};
  for (auto const& [least, gpus] : order) {
    if (soonest && least >= soonest->time) break;
    for (auto const& plan : plans_on(gpus, 1))
      if (!reports::is_lost(*plan.job) && (!soonest || plan.job->time < soonest->time))
        soonest = reports::Soonest{gpus, plan.job->time};
  }
  return soonest;
}

/// Of what was simulated anyway the fastest, else one that holds little.
std::optional<reports::PlannedStep> ClusterSearch::any_plan_on(std::int64_t gpus) {
  auto const& [question, space, found, of_each] = bounded(gpus);
  if (!found.plans.empty()) return planned(question, found.plans.front());
  if (of_each > 0) return std::nullopt;
  auto const fitting = find_fitting(question.scenario, space, progress_);
  return fitting ? std::optional{planned(question, *fitting)} : std::nullopt;
}

reports::MinimumGpus ClusterSearch::minimum() {
  auto const& possible = possible_;
  auto out = reports::MinimumGpus{.cluster = base_.cluster->name, .most = possible.empty() ? 0 : possible.back()};
  for (auto const gpus : possible) {
    if (!out.fit) out.fit = any_plan_on(gpus);
    if (out.fit && goal_.deadline) out.meet_deadline = plan_in_time(gpus);
    if (out.fit && (!goal_.deadline || out.meet_deadline)) break;
  }
  if (goal_.deadline && out.fit && !out.meet_deadline) out.soonest = soonest();
  return out;
}

std::vector<ClusterSearch> searches_of(PlanQuestion const& asked, std::function<void()> const& progress) {
  auto searches = std::vector<ClusterSearch>{};
  auto const price_of = [&](std::size_t cluster) {
    auto const& prices = asked.prices;
    return prices.empty() ? std::nullopt : std::optional{prices[prices.size() > 1 ? cluster : 0]};
  };
  if (asked.clusters.empty()) searches.emplace_back(asked, asked.scenario, price_of(0), progress);
  for (std::size_t i = 0; i < asked.clusters.size(); ++i) try {
      searches.emplace_back(asked, on_cluster(asked.scenario, asked.clusters[i]), price_of(i), progress);
    } catch (InputError const&) {
      static_cast<void>(asked.scenario.parts->cluster(asked.clusters[i]));  // says what is wrong with it alone
      throw;
    }
  return searches;
}

}  // namespace twinstep::explore::plan
