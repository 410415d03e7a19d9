#include "explore/plan/candidates.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/parallel.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/change.hpp"
#include "strategies/compile.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::explore::plan {
namespace {

/// Plans for one sequence at a time, with the strategies that go with the question's training.
std::vector<strategies::Plan> read_plans(Setup const& question, Space& space) {
  auto const& [scenario, training, searched] = question;
  auto plans = std::vector<strategies::Plan>{};
  auto const& node = scenario.cluster->node();
  auto const ranks = scenario.plan.parallel.world();
  auto const layout = RankLayout{.ranks = ranks,
                                 .gpus_per_node = node.gpus,
                                 .has_drives = node.drives.has_value(),
                                 .accumulates = scenario.plan.batch.global_batch > ranks};
  for (auto& plan : strategy_choices(layout)) {
    auto const strategy = plan.strategy.name();
    auto const is_tried = searched.empty() ? is_offered(strategy, scenario.model)
                                           : std::ranges::find(searched, strategy) != searched.end();
    if (!is_tried) continue;
    try {
      auto const written = io::written_in("strategy", strategy_node(plan));
      read_training(training, scenario.model, plan);
      check_plan(training, written, scenario.model, plan);
      plans.push_back(std::move(plan));
    } catch (InputError const& error) {
      auto const name = name_of(strategy);
      if (std::ranges::find(space.refused, name, &Space::Refused::strategy) == space.refused.end())
        space.refused.push_back({std::string{name}, error.what()});
    }
  }
  return plans;
}

Scenario by(strategies::Plan const& plan, Scenario scenario) {
  scenario.plan = plan;
  return scenario;
}

struct Need {
  std::string_view of;
  Bytes needs;
  std::optional<Bytes> has;
  [[nodiscard]] double fullness() const {
    return has ? static_cast<double>(needs.count()) / static_cast<double>(has->count()) : 0.0;
  }
};

Need fullest(Bound const& bound, Capacity const& capacity) {
  auto const needs = {Need{"", bound.device, capacity.device}, Need{"host memory", bound.host, capacity.host.memory},
                      Need{"NVMe", bound.nvme, capacity.host.drives}};
  return std::ranges::max(needs, {}, &Need::fullness);
}

/// What the strategies run on: the cluster with the software of each one's framework.
class Machines {
 public:
  explicit Machines(Scenario scenario) {
    for (std::size_t i = 0; i < of_strategy_.size(); ++i) {
      scenario.plan.strategy = static_cast<strategies::StrategyName>(i);
      auto machine = machine_of(scenario);
      auto const known = std::ranges::find(machines_, machine);
      of_strategy_[i] = static_cast<std::size_t>(known - machines_.begin());
      if (known == machines_.end()) machines_.push_back(std::move(machine));
    }
  }
  [[nodiscard]] std::size_t count() const { return machines_.size(); }
  [[nodiscard]] engine::Machine const& machine(std::size_t index) const { return *machines_[index]; }
  [[nodiscard]] std::size_t index_of(strategies::StrategyName name) const {
    return of_strategy_[static_cast<std::size_t>(name)];
  }
  [[nodiscard]] engine::Machine const& of(strategies::StrategyName name) const { return machine(index_of(name)); }

 private:
  std::vector<std::shared_ptr<engine::Machine const>> machines_;
  std::array<std::size_t, kEnumSize<strategies::StrategyName>> of_strategy_{};
};

}  // namespace

Capacity capacity_of(hardware::Node const& node) {
  return {node.gpu.memory_capacity.value, host_share(node)};
}

double fullness(Bound const& bound, Capacity const& capacity) {
  return fullest(bound, capacity).fullness();
}

std::string why_too_large(Bound const& bound, Capacity const& capacity) {
  auto const [of, needs, has] = fullest(bound, capacity);
  TWINSTEP_CHECK(has.has_value(), "what is not known is never too little");
  if (of.empty())
    return fmt::format("needs at least {}, has {}", reports::memory_text(needs), reports::memory_text(*has));
  return fmt::format("needs at least {} of {} a rank, whose share is {}", reports::memory_text(needs), of,
                     reports::memory_text(*has));
}

Space bound_all(Setup const& question) {
  auto space = Space{};
  auto const plans = read_plans(question, space);
  if (plans.empty()) return space;
  auto const machines = Machines{question.scenario};
  auto const& model = question.scenario.model;
  auto const samples = question.scenario.plan.batch.global_batch / question.scenario.plan.parallel.world();
  auto const works = work_choices(model, samples, samples);
  auto const hollow = strategies::hollow_work(model, plans.front());
  auto const kind_of = [&](WorkChoice const& work) { return std::min(samples / work.micro_batch, StepFrame::kKinds); };
  auto frames = std::map<std::int64_t, std::vector<StepFrame>>{};
  for (auto const& work : works)
    if (auto const kind = kind_of(work); !frames.contains(kind))
      frames[kind] = map_indices(plans.size(), [&](std::size_t i) {
        return StepFrame{hollow, plans[i], kind, machines.of(plans[i].strategy.name()),
                         question.scenario.network_is_free};
      });
  auto const work_of = map_indices(works.size() * machines.count(), [&](std::size_t i) {
    auto const plan = with_choice(plans.front(), works[i % works.size()]);
    return micro_batch_work(model, plan, machines.machine(i / works.size()));
  });
  space.capacity = capacity_of(question.scenario.cluster->node());
  for (std::size_t s = 0; s < plans.size(); ++s) {
    auto const* const parts = &work_of[machines.index_of(plans[s].strategy.name()) * works.size()];
    for (std::size_t w = 0; w < works.size(); ++w) {
      auto const bound = frames.at(kind_of(works[w]))[s].around(parts[w], samples / works[w].micro_batch);
      auto& side = fullness(bound, space.capacity) <= 1 ? space.candidates : space.too_large;
      side.push_back({with_choice(plans[s], works[w]), bound});
    }
  }
  return space;
}

Bound sharpened(Scenario const& asked, Candidate const& candidate) {
  auto const scenario = by(candidate.plan, asked);
  auto const compiled = strategies::compile(scenario.model, scenario.plan, MicroBatches::kFew);
  TWINSTEP_CHECK(std::holds_alternative<program::StepProgram>(compiled), "ranks and groups were checked");
  auto const& program = std::get<program::StepProgram>(compiled);
  return candidate.bound & program_bound(program, *machine_of(scenario), scenario.network_is_free);
}

std::optional<Simulated> simulate(Scenario const& scenario, Candidate const& candidate) {
  auto outcome = run_variation(by(candidate.plan, scenario));
  auto* const run = std::get_if<Run>(&outcome);
  if (run == nullptr) return std::nullopt;
  return Simulated{candidate, std::move(run->summary)};
}

bool fits_with_ease(reports::Summary const& summary) {
  return summary.fits && (!summary.allocator || summary.allocator->retries == 0);
}

}  // namespace twinstep::explore::plan
