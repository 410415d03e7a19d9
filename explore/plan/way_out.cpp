#include "explore/plan/way_out.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "explore/ask/parallel.hpp"
#include "explore/plan/search.hpp"
#include "reports/quantity_text.hpp"
#include "strategies/compile.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::explore {
namespace {

using plan::Candidate;
using plan::MicroBatchWork;
using plan::Simulated;
using plan::StepFrame;
using plan::WorkChoice;
using strategies::Plan;

/// The asked plan with the strategy, groups and places of states of another. Nothing where its training does not go
/// with them.
std::optional<Plan> with_strategy_of(Plan const& choice, Plan const& asked) {
  auto plan = asked;
  auto const precision = asked.kernels.precision;
  auto const is_usual = asked.states.parameter_type == default_parameter_type(asked.strategy, precision);
  auto const name = choice.strategy.name();
  if (name != asked.strategy.name() || choice.strategy != strategies::Strategy{name}) plan.strategy = choice.strategy;
  auto const usual = default_parameter_type(plan.strategy, precision);
  if (is_usual) plan.states.parameter_type = usual;
  auto& [parameter_type, master_type, reduce_type, optimizer, old_foreach, clips, offload] = plan.states;
  if (parameter_type != usual && parameter_type != precision) return std::nullopt;
  if (reduce_type && !plan.strategy.traits().takes_reduce_type) return std::nullopt;
  plan.parallel.shard_group = choice.parallel.shard_group;
  offload.optimizer = choice.states.offload.optimizer;
  offload.parameters = choice.states.offload.parameters;
  using enum strategies::OffloadPlace;
  auto const goes_to = offload.optimizer;
  auto const traits = traits_of(optimizer);
  if ((traits.is_paged && goes_to != kNone) || (traits.has_8_bits && goes_to == kNvme)) return std::nullopt;
  return plan;
}

/// The strategy with the options that it has where nobody changes them.
strategies::Strategy unchanged(Plan const& from, Plan const& to) {
  auto const name = to.strategy.name();
  return name == from.strategy.name() ? from.strategy : strategies::Strategy{name};
}

/// How many settings of the strategy, its groups and places of states differ; another framework counts as one too.
int strategy_changes(Plan const& from, Plan const& to) {
  auto const& [a, b] = std::pair{from.states.offload, to.states.offload};
  auto const is_same = from.strategy.name() == to.strategy.name();
  auto const is_related = from.strategy.traits().family == to.strategy.traits().family;
  return static_cast<int>(!is_related) + static_cast<int>(!is_same) +
         static_cast<int>(to.strategy != unchanged(from, to)) +
         static_cast<int>(to.parallel.shard_group != from.parallel.shard_group) +
         static_cast<int>(a.optimizer != b.optimizer || a.parameters != b.parameters);
}

/// How many settings of what a rank computes at a time differ.
int work_changes(WorkChoice const& from, WorkChoice const& to) {
  return static_cast<int>(from.micro_batch != to.micro_batch) + static_cast<int>(from.recompute != to.recompute) +
         static_cast<int>(from.scope != to.scope) +
         static_cast<int>(from.offloads_activations != to.offloads_activations);
}

WorkChoice work_of(Plan const& plan) {
  return {plan.batch.micro_batch, plan.kernels.recompute, plan.kernels.recompute_scope,
          plan.states.offload.activations};
}

/// The plans around the one that was asked for, by the number of changes that lead there.
class Around {
 public:
  explicit Around(Scenario const& scenario)
      : scenario_{scenario},
        samples_{scenario.plan.batch.global_batch / scenario.plan.parallel.data},
        hollow_{strategies::hollow_work(scenario.model, scenario.plan)} {
    add_strategies();
    add_works();
    space_.capacity = plan::capacity_of(scenario.cluster->node());
  }

  /// Whether all that bounds leave was simulated.
  [[nodiscard]] bool is_exhausted() const { return left_ > 0; }

  std::optional<Simulated> nearest_that_fits() {
    for (auto changes = 1; changes <= kMostChanges; ++changes) {
      space_.candidates.clear();
      for (auto const& strategy : strategies_)
        for (auto const& work : works_)
          if (strategy.changes + work.changes == changes) consider(strategy.plan, work.choice);
      if (auto found = plan::find_fastest(scenario_, space_, left_)) return found;
    }
    return std::nullopt;
  }

 private:
  static constexpr auto kMostSimulations = std::size_t{32};
  static constexpr auto kMostChanges = 5 + 4;  // of strategy and of work

  struct Strategy {
    Plan plan;
    int changes = 0;
  };
  struct Work {
    WorkChoice choice;
    int changes = 0;
  };

  /// A paper's schedule leads to those of papers too.
  void add_strategies() {
    auto const& asked = scenario_.plan;
    auto const& node = scenario_.cluster->node();
    strategies_.push_back({asked, 0});
    for (auto const& choice : plan::strategy_choices({.ranks = asked.parallel.data,
                              .gpus_per_node = node.gpus,
                              .has_drives = node.drives.has_value(),
                              .accumulates = samples_ > 1})) {
      auto const is_related = choice.strategy.traits().family == asked.strategy.traits().family;
      if (!is_related && !is_offered(choice.strategy.name(), scenario_.model)) continue;
      if (auto plan = with_strategy_of(choice, asked); plan && *plan != asked)
        strategies_.push_back({*plan, strategy_changes(asked, *plan)});
    }
  }
  void add_works() {
    auto const asked = work_of(scenario_.plan);
    auto choices = plan::work_choices(scenario_.model, samples_, asked.micro_batch);
    for (auto& choice : plan::work_choices(scenario_.model, samples_, asked.micro_batch)) {
      choice.recompute = asked.recompute;
      choice.scope = asked.scope;
      choices.push_back(choice);
    }
    for (auto const& choice : choices) {
      auto const is_known = std::ranges::find(works_, choice, &Work::choice) != works_.end();
      if (!is_known && can_be_simulated(scenario_.model, with_choice(scenario_.plan, choice)))
        works_.push_back({choice, work_changes(asked, choice)});
    }
  }

  /// Adds the candidate unless its bound rules it out.
  void consider(Plan const& strategy, WorkChoice const& choice) {
    auto candidate = Candidate{with_choice(strategy, choice), {}};
    auto varied = scenario_;
    varied.plan = candidate.plan;
    auto const machine = machine_of(varied);
    auto const& work = work_on(*machine, choice);
    if (work.kept > space_.capacity.device) return;
    candidate.bound =
        frame_of(strategy, accumulation(candidate.plan), *machine).around(work, accumulation(candidate.plan));
    if (plan::fullness(candidate.bound, space_.capacity) <= 1) space_.candidates.push_back(std::move(candidate));
  }
  MicroBatchWork const& work_on(engine::Machine const& machine, WorkChoice const& choice) {
    for (auto const& [of, on, work] : known_works_)
      if (of == choice && on == &machine) return work;
    auto work = plan::micro_batch_work(scenario_.model, with_choice(scenario_.plan, choice), machine);
    return std::get<MicroBatchWork>(known_works_.emplace_back(choice, &machine, work));
  }
  StepFrame const& frame_of(Plan const& strategy, std::int64_t micro_batches, engine::Machine const& machine) {
    auto const kind = std::min(micro_batches, StepFrame::kKinds);
    auto const [entry, is_new] = frames_.try_emplace({&strategy, kind});
    if (is_new) entry->second.emplace(hollow_, strategy, kind, machine, scenario_.network_is_free);
    return *entry->second;
  }

  Scenario const& scenario_;
  std::size_t left_ = kMostSimulations;
  std::int64_t samples_;  // of a rank
  strategies::ModelWork hollow_;
  std::vector<Strategy> strategies_;
  std::vector<Work> works_;
  plan::Space space_;
  std::deque<std::tuple<WorkChoice, engine::Machine const*, MicroBatchWork>> known_works_;
  std::map<std::pair<Plan const*, std::int64_t>, std::optional<StepFrame>> frames_;
};

/// "fsdp2 + recompute full + micro-batch 1": the strategy, and what differs from what was asked for.
std::string changes_text(Plan const& asked, Plan const& plan) {
  auto text = std::string{name_of(plan.strategy)};
  auto const add = [&](bool differs, std::string const& part) {
    if (differs && !part.empty()) text += " + " + part;
  };
  add(plan.strategy != unchanged(asked, plan), plan::other_options(plan));
  add(plan.parallel.shard_group != asked.parallel.shard_group,
      plan.parallel.shard_group > 0 ? fmt::format("groups of {}", plan.parallel.shard_group) : "no groups");
  auto const [before, after] = std::pair{work_of(asked), work_of(plan)};
  add(after.recompute != before.recompute || after.scope != before.scope,
      "recompute " + plan::recompute_text(plan.kernels));
  add(after.micro_batch != before.micro_batch, fmt::format("micro-batch {}", after.micro_batch));
  add(plan.states.offload != asked.states.offload, "offload " + plan::offload_text(plan.states.offload));
  return text;
}

/// The question with all ranks data-parallel: what is searched around.
Scenario without_mesh(Scenario scenario) {
  scenario.plan.parallel = {.data = scenario.plan.parallel.world()};
  return scenario;
}

std::string find_way_out(Scenario const& asked) try {
  auto const scenario = asked.plan.parallel.model_ranks() > 1 ? without_mesh(asked) : asked;
  auto around = Around{scenario};
  if (auto const found = around.nearest_that_fits())
    return fmt::format("{} would fit ({}, {} a step)", changes_text(scenario.plan, found->candidate.plan),
                       reports::memory_text(found->summary.peak.total()), reports::time_text(found->summary.step_time));
  if (!around.is_exhausted()) return "none of the nearest plans fits: search for one, or use more GPUs";
  auto const has_sequences = std::holds_alternative<strategies::Transformer>(scenario.model);
  return fmt::format(
      "no strategy fits on these GPUs, at any micro-batch, however much is recomputed or offloaded: use "
      "more of them{}",
      has_sequences ? " or shorter sequences" : "");
} catch (BeyondRange const&) {  // no step to propose
  return {};
}

}  // namespace

void add_way_out(Run& run, Scenario const& scenario) {
  if (!run.summary.fits) run.summary.way_out = find_way_out(scenario);
}

void add_ways_out(Answered& question) {
  for_each_index(question.outcomes.size(), [&](std::size_t i) {
    if (auto* run = std::get_if<Run>(&question.outcomes[i])) add_way_out(*run, question.scenarios[i]);
  });
}

}  // namespace twinstep::explore
