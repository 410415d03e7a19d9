#include "explore/plan/search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/parallel.hpp"
#include "explore/plan/steady_step.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "sim/io/change.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::explore::plan {
namespace {

constexpr std::size_t kAtOnce = 4;           ///< simulations between two looks at what they found, whatever the cores
constexpr std::size_t kThriftiest = 32;      ///< looked at to tell whether anything fits
constexpr std::size_t kThriftiestOfOne = 8;  ///< likewise of one strategy
constexpr std::size_t kTriesOfOne = 96;      ///< whose parts may be too large
constexpr double kSurelyTooFull = 1.02;      ///< the least that is held is known within 2 %

/// Plans for one sequence at a time, with the strategies that go with the question's training.
std::vector<strategies::Plan> read_plans(Setup const& question, Space& space) {
  auto const& [scenario, training, searched] = question;
  auto plans = std::vector<strategies::Plan>{};
  auto const& node = scenario.cluster->node();
  auto const layout = RankLayout{.ranks = scenario.plan.parallel.ranks,
                                 .gpus_per_node = node.gpus,
                                 .has_drives = node.drives.has_value(),
                                 .accumulates = scenario.plan.batch.global_batch > scenario.plan.parallel.ranks};
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

Scenario scenario_of(Setup const& question, Candidate const& candidate) {
  auto scenario = question.scenario;
  scenario.plan = candidate.plan;
  return scenario;
}

std::optional<Simulated> simulate_if_parts_fit(Setup const& question, Candidate const& candidate) {
  if (is_too_large_in_part(scenario_of(question, candidate))) return std::nullopt;
  return simulate(question, candidate);
}

struct Need {
  std::string_view of;
  Bytes needs;
  std::optional<Bytes> has;
  [[nodiscard]] double fullness() const {
    return has ? static_cast<double>(needs.count()) / static_cast<double>(has->count()) : 0.0;
  }
};

Need fullest(Estimate const& estimate, Capacity const& capacity) {
  auto const needs = {Need{"", estimate.least_memory, capacity.device},
                      Need{"host memory", estimate.least_host, capacity.host.memory},
                      Need{"NVMe", estimate.least_nvme, capacity.host.drives}};
  return std::ranges::max(needs, {}, &Need::fullness);
}

bool is_faster(Simulated const& a, Simulated const& b) {
  return a.summary.step_time < b.summary.step_time;
}

/// Of one strategy: options that make no difference, as those of accumulation where there is none.
bool run_alike(Simulated const& a, Simulated const& b) {
  return a.summary.step_time == b.summary.step_time &&
         a.summary.reserved_peak.total() == b.summary.reserved_peak.total() &&
         a.candidate.plan.batch.micro_batch == b.candidate.plan.batch.micro_batch;
}

/// Simulates candidates of one strategy and keeps what it finds in their order. Once one was too large, others are
/// first tried with few layers.
class Simulating {
 public:
  Simulating(Setup const& question, Space const& space, Effort const& effort, std::function<void()> const& progress)
      : question_{question}, space_{space}, effort_{effort}, progress_{progress}, is_done_(space.candidates.size()) {}

  /// @param order  the strategy's candidates, the fastest first
  Found found(std::vector<std::size_t> order) {
    run(order, effort_.most_simulations, [&](std::size_t next) { return is_settled(next); });
    if (found_.plans.size() < effort_.plans) {
      std::ranges::stable_sort(order, {}, [&](std::size_t i) { return space_.candidates[i].estimate.least_memory; });
      run(order, kThriftiestOfOne, [&](std::size_t) { return found_.plans.size() >= effort_.plans; });
    }
    std::ranges::stable_sort(found_.plans, is_faster);
    if (found_.plans.size() > effort_.plans) found_.plans.resize(effort_.plans);
    return std::move(found_);
  }

 private:
  /// Whether the candidate, and those behind it, cannot be among the plans that are looked for.
  [[nodiscard]] bool is_settled(std::size_t next) {
    if (found_.plans.size() < effort_.plans) return false;
    auto times = std::vector<Duration>{};
    for (auto const& each : found_.plans) times.push_back(each.summary.step_time);
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(effort_.plans) - 1);
    return space_.candidates[next].estimate.step_time.count() >
           to_seconds(times[effort_.plans - 1]).count() * kEstimateMargin;
  }

  template <class IsSettled>
  void run(std::vector<std::size_t> const& order, std::size_t most, IsSettled const& is_settled) {
    auto left = most;
    auto tries_left = kTriesOfOne;
    auto batch = std::vector<std::size_t>{};
    for (auto next = order.begin(); next != order.end() && left > 0 && tries_left > 0;) {
      if (is_settled(*next)) return;
      batch.clear();
      for (; next != order.end() && batch.size() < std::min(kAtOnce, left); ++next)
        if (!is_done_[*next]) batch.push_back(*next);
      for (auto const each : batch) is_done_[each] = true;
      auto const simulated = run(batch);
      left -= simulated;
      tries_left -= std::min(tries_left, batch.size() - simulated);
    }
  }

  /// How many of the batch were simulated whole.
  std::size_t run(std::vector<std::size_t> const& batch) {
    auto const tries_parts = !found_.too_large.empty();
    auto results = map_indices(batch.size(), [&](std::size_t i) {
      auto const& candidate = space_.candidates[batch[i]];
      return tries_parts ? simulate_if_parts_fit(question_, candidate) : simulate(question_, candidate);
    });
    auto count = std::size_t{0};
    for (auto& result : results) {
      if (!result) continue;
      ++count;
      if (progress_) progress_();
      if (!fits_with_ease(result->summary))
        found_.too_large.push_back(std::move(*result));
      else if (std::ranges::none_of(found_.plans, [&](Simulated const& other) { return run_alike(*result, other); }))
        found_.plans.push_back(std::move(*result));
    }
    found_.simulations += count;
    return count;
  }

  Setup const& question_;
  Space const& space_;
  Effort const& effort_;
  std::function<void()> const& progress_;
  std::vector<bool> is_done_;
  Found found_;
};

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

double fullness(Estimate const& estimate, Capacity const& capacity) {
  return fullest(estimate, capacity).fullness();
}

std::string why_too_large(Estimate const& estimate, Capacity const& capacity) {
  auto const [of, needs, has] = fullest(estimate, capacity);
  TWINSTEP_CHECK(has.has_value(), "what is not known is never too little");
  if (of.empty())
    return fmt::format("needs at least {}, has {}", reports::memory_text(needs), reports::memory_text(*has));
  return fmt::format("needs at least {} of {} a rank, whose share is {}", reports::memory_text(needs), of,
                     reports::memory_text(*has));
}

std::optional<Simulated> simulate(Setup const& question, Candidate const& candidate) {
  auto summary = simulate_steadily(scenario_of(question, candidate));
  if (!summary) return std::nullopt;
  return Simulated{candidate, std::move(*summary)};
}

bool fits_with_ease(reports::Summary const& summary) {
  return summary.fits && (!summary.allocator || summary.allocator->retries == 0);
}

Space estimate_all(Setup const& question) {
  auto space = Space{};
  auto const plans = read_plans(question, space);
  if (plans.empty()) return space;
  auto const machines = Machines{question.scenario};
  auto const& model = question.scenario.model;
  auto const samples = question.scenario.plan.batch.global_batch / question.scenario.plan.parallel.ranks;
  auto const works = work_choices(model, samples);
  auto own = std::vector<OwnWork>{};
  for (std::size_t i = 0; i < machines.count(); ++i) own.push_back(own_work(model, plans.front(), machines.machine(i)));
  auto const strategy_part = map_indices(plans.size(), [&](std::size_t i) {
    auto const& plan = plans[i];
    return strategy_terms(model, plan, machines.of(plan.strategy.name()), own[machines.index_of(plan.strategy.name())]);
  });
  auto const work_part = map_indices(works.size() * machines.count(), [&](std::size_t i) {
    auto const plan = with_choice(plans.front(), works[i % works.size()]);
    return work_terms(model, plan, machines.machine(i / works.size()));
  });
  auto const& node = question.scenario.cluster->node();
  space.capacity = {node.gpu.memory_capacity.value, host_share(node)};
  for (std::size_t s = 0; s < plans.size(); ++s) {
    auto const* const parts = &work_part[machines.index_of(plans[s].strategy.name()) * works.size()];
    for (std::size_t w = 0; w < works.size(); ++w) {
      auto const answer = estimate(strategy_part[s], parts[w], samples / works[w].micro_batch);
      auto const fits = fullness(answer, space.capacity) <= kSurelyTooFull;
      (fits ? space.candidates : space.too_large).push_back({with_choice(plans[s], works[w]), answer});
    }
  }
  std::ranges::stable_sort(space.candidates, {}, [](Candidate const& each) { return each.estimate.step_time; });
  return space;
}

std::optional<Simulated> thriftiest_that_fits(Setup const& question, Space const& space,
                                              std::function<void()> const& progress) {
  auto thriftiest = space.candidates;
  std::ranges::stable_sort(thriftiest, {}, [](Candidate const& each) { return each.estimate.least_memory; });
  thriftiest.resize(std::min(thriftiest.size(), kThriftiest));
  for (std::size_t first = 0; first < thriftiest.size(); first += kAtOnce) {
    auto const count = std::min(kAtOnce, thriftiest.size() - first);
    auto found =
        map_indices(count, [&](std::size_t i) { return simulate_if_parts_fit(question, thriftiest[first + i]); });
    if (progress)
      for (auto const& each : found)
        if (each) progress();
    auto const fitting =
        std::ranges::find_if(found, [](auto const& each) { return each && fits_with_ease(each->summary); });
    if (fitting != found.end()) return std::move(*fitting);
  }
  return std::nullopt;
}

Found simulate_best(Setup const& question, Space const& space, Effort const& effort,
                    std::function<void()> const& progress) {
  auto of_strategy = std::array<std::vector<std::size_t>, kEnumSize<strategies::StrategyName>>{};
  for (std::size_t i = 0; i < space.candidates.size(); ++i)
    of_strategy[static_cast<std::size_t>(space.candidates[i].plan.strategy.name())].push_back(i);
  auto all = Found{};
  for (auto& order : of_strategy) {
    auto found = Simulating{question, space, effort, progress}.found(std::move(order));
    std::ranges::move(found.plans, std::back_inserter(all.plans));
    std::ranges::move(found.too_large, std::back_inserter(all.too_large));
    all.simulations += found.simulations;
  }
  std::ranges::stable_sort(all.plans, is_faster);
  return all;
}

}  // namespace twinstep::explore::plan
