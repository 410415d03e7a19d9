#include "explore/scale/why.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/offered_strategies.hpp"
#include "reports/summary.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

using reports::Change;
using strategies::Recompute;
using strategies::StrategyName;

/// The changes that are worth a try.
class Candidates {
 public:
  Candidates(Scenario const& scenario, std::string strategy_path)
      : scenario_{scenario}, plan_{scenario.plan}, path_{std::move(strategy_path)} {
    add_strategies();
    add_recomputation();
    add_training();
    add_hardware();
  }
  [[nodiscard]] std::vector<Change> take() && { return std::move(changes_); }

 private:
  void add(std::string name, std::vector<std::string> settings, bool is_hardware = false) {
    changes_.push_back({.name = std::move(name), .settings = std::move(settings), .is_hardware = is_hardware});
  }

  /// The strategy with nothing but its ranks, its recomputation and `options`, as another one refuses the rest.
  [[nodiscard]] std::string strategy(std::string_view name, Recompute recompute,
                                     std::string const& options = "") const {
    return fmt::format(R"({}={{"name": "{}", "recompute": "{}", "ranks": {}{}}})", path_, name, name_of(recompute),
                       plan_.ranks, options);
  }

  void add_strategies() {
    for (std::size_t i = 0; i < kEnumSize<StrategyName>; ++i) {
      auto const name = static_cast<StrategyName>(i);
      if (name != plan_.strategy && is_offered(name, scenario_.model))
        add(fmt::format("{} in place of {}", name_of(name), name_of(plan_.strategy)),
            {strategy(name_of(name), plan_.recompute)});
    }
    auto const gpus = scenario_.cluster.node().gpus;
    if (plan_.ranks > gpus && plan_.shard_group != gpus && gpus > 1)
      add("fsdp2 that shards inside a node (HSDP)",
          {strategy("fsdp2", plan_.recompute, fmt::format(R"(, "shard_group": {})", gpus))});
  }

  void add_recomputation() {
    for (auto const recompute : {Recompute::kNone, Recompute::kSelective})
      if (plan_.recompute == Recompute::kFull || (plan_.recompute != Recompute::kNone && recompute == Recompute::kNone))
        add(fmt::format("recompute {}", name_of(recompute)),
            {fmt::format("{}.recompute={}", path_, name_of(recompute))});
  }

  void add_training() {
    auto const at_once = plan_.micro_batch * plan_.ranks;
    if (plan_.global_batch % (2 * at_once) == 0)
      add(fmt::format("micro-batches of {}", 2 * plan_.micro_batch),
          {fmt::format("training.micro_batch={}", 2 * plan_.micro_batch)});
    if (!plan_.flash_attention) add("fused attention", {"training.flash_attention=true"});
    if (plan_.optimizer == strategies::Optimizer::kAdamWForeach)
      add("a fused optimizer", {"training.optimizer=adamw-fused"});
    if (std::holds_alternative<strategies::Transformer>(scenario_.model))
      add("a fused activation and cross-entropy", {"training.activation=fused", "training.cross_entropy=fused"});
  }

  void add_hardware() {
    if (plan_.ranks <= scenario_.cluster.node().gpus) return;
    auto const twice = [](std::string_view path, BytesPerSecond one_way) {
      return fmt::format("{}={:.0f} Gb/s", path, 2 * one_way.count() * 8e-9);
    };
    auto const& [node, fabric] = std::tie(scenario_.cluster.node(), scenario_.cluster.fabric);
    add("NICs, ports and slots twice as fast",
        {twice("cluster.node.nic", node.nic.value), twice("cluster.fabric.port", fabric.port.value),
         twice("cluster.node.pcie", node.pcie.value)},
        true);
  }

  Scenario const& scenario_;
  strategies::Plan const& plan_;
  std::string path_;
  std::vector<Change> changes_;
};

std::optional<reports::Summary> simulated(Scenario const& scenario, engine::RunOptions const& options = {}) {
  auto outcome = run_step(scenario, engine::Machine{machine_of(scenario), scenario.plan.ranks}, options, Checks::kNone);
  if (auto* run = std::get_if<Run>(&outcome)) return std::move(run->summary);
  return std::nullopt;
}

/// Whether the change could be made and helps; fills in what it comes to.
bool helps(Change& change, std::string const& path, std::vector<std::string> settings, std::size_t place,
           Duration step_time) try {
  settings.insert(settings.end(), change.settings.begin(), change.settings.end());
  auto const scenarios = read_scenarios(path, settings);
  auto const summary = simulated(scenarios.at(place));
  if (!summary) return false;
  change.step_time = summary->step_time;
  change.fits = summary->fits;
  return change.fits && change.step_time < step_time;
} catch (InputError const&) {
  return false;
}

}  // namespace

std::optional<reports::Why> explain(std::string const& path, std::vector<std::string> const& settings,
                                    std::size_t place) {
  auto const scenarios = read_scenarios(path, settings);
  auto const& scenario = scenarios.at(place);
  auto without_communication = scenario;
  without_communication.network_is_free = true;
  auto const step = simulated(scenario);
  auto const free = simulated(without_communication, {.replays_allocator = false});
  if (!step || !free) return std::nullopt;
  auto why = reports::Why{
      .title = scenario.strategy_title, .step_time = step->step_time, .without_communication = free->step_time};
  auto const strategy_path = scenario.is_one_of_several ? fmt::format("strategy.{}", place) : std::string{"strategy"};
  why.changes = Candidates{scenario, strategy_path}.take();
  std::erase_if(why.changes, [&](Change& change) { return !helps(change, path, settings, place, why.step_time); });
  std::ranges::stable_sort(why.changes, {}, &Change::step_time);
  return why;
}

}  // namespace twinstep::explore
