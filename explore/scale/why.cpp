#include "explore/scale/why.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "explore/ask/assumptions.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

using strategies::Recompute;
using strategies::StrategyName;

using Changes = std::vector<io::Change>;

/// What could be changed, before it is known what it comes to.
struct Candidate {
  std::string name;
  Changes changes;
  bool is_hardware = false;
};

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
  [[nodiscard]] std::vector<Candidate> take() && { return std::move(candidates_); }

 private:
  void add(std::string name, Changes changes, bool is_hardware = false) {
    candidates_.push_back({std::move(name), std::move(changes), is_hardware});
  }
  template <class Value>
  static io::Change change(std::string const& path, Value value) {
    return io::change_to(path, io::value_node(value));
  }

  /// The strategy with nothing but its ranks, its recomputation and perhaps groups, as another one refuses the rest.
  [[nodiscard]] io::Change strategy(std::string_view name, std::optional<std::int64_t> shard_group = {}) const {
    auto members = std::vector<std::pair<std::string_view, io::Node>>{
        {"name", io::value_node(name)},
        {"recompute", io::value_node(name_of(plan_.kernels.recompute))},
        {"ranks", io::value_node(plan_.parallel.world())}};
    if (shard_group) members.emplace_back("shard_group", io::value_node(*shard_group));
    return io::change_to(path_, io::value_node(members));
  }

  void add_strategies() {
    for (std::size_t i = 0; i < kEnumSize<StrategyName>; ++i) {
      auto const name = static_cast<StrategyName>(i);
      if (name != plan_.strategy && is_offered(name, scenario_.model))
        add(fmt::format("{} in place of {}", name_of(name), name_of(plan_.strategy)), {strategy(name_of(name))});
    }
    auto const gpus = scenario_.cluster->node().gpus;
    if (plan_.parallel.world() > gpus && plan_.parallel.shard_group != gpus && gpus > 1)
      add("fsdp2 that shards inside a node (HSDP)", {strategy("fsdp2", gpus)});
  }

  void add_recomputation() {
    for (auto const recompute : {Recompute::kNone, Recompute::kSelective})
      if (plan_.kernels.recompute == Recompute::kFull ||
          (plan_.kernels.recompute != Recompute::kNone && recompute == Recompute::kNone))
        add(fmt::format("recompute {}", name_of(recompute)), {change(path_ + ".recompute", name_of(recompute))});
  }

  void add_training() {
    auto const at_once = plan_.batch.micro_batch * plan_.parallel.data;
    if (plan_.batch.global_batch % (2 * at_once) == 0)
      add(fmt::format("micro-batches of {}", 2 * plan_.batch.micro_batch),
          {change("training.micro_batch", 2 * plan_.batch.micro_batch)});
    if (!plan_.kernels.flash_attention) add("fused attention", {change("training.flash_attention", true)});
    if (plan_.states.optimizer == strategies::Optimizer::kAdamWForeach)
      add("a fused optimizer", {change("training.optimizer", "adamw-fused")});
    if (std::holds_alternative<strategies::Transformer>(scenario_.model))
      add("a fused activation and cross-entropy",
          {change("training.activation", "fused"), change("training.cross_entropy", "fused")});
  }

  void add_hardware() {
    if (plan_.parallel.world() <= scenario_.cluster->node().gpus) return;
    auto const twice = [](char const* path, BytesPerSecond one_way) {
      return change(path, std::string_view{fmt::format("{:.0f} Gb/s", 2 * one_way.count() * 8e-9)});
    };
    auto const& [node, fabric] = std::tie(scenario_.cluster->node(), scenario_.cluster->fabric);
    add("NICs, ports and slots twice as fast",
        {twice("cluster.node.nic", node.nic.value), twice("cluster.fabric.port", fabric.port.value),
         twice("cluster.node.pcie", node.pcie.value)},
        true);
  }

  Scenario const& scenario_;
  strategies::Plan const& plan_;
  std::string path_;
  std::vector<Candidate> candidates_;
};

/// What the change comes to, if it could be made and helps.
std::optional<reports::Change> helpful(Answered const& question, std::size_t place, Candidate const& candidate,
                                       Duration step_time) try {
  auto const outcome = run_variation(question.changed(place, candidate.changes));
  auto const* const run = std::get_if<Run>(&outcome);
  if (run == nullptr || !run->summary.fits || run->summary.step_time >= step_time) return std::nullopt;
  return reports::Change{.name = candidate.name,
                         .changes = candidate.changes,
                         .is_hardware = candidate.is_hardware,
                         .step_time = run->summary.step_time};
} catch (InputError const&) {
  return std::nullopt;
}

}  // namespace

Duration time_without_communication(Scenario scenario) {
  scenario.network_is_free = true;
  auto const outcome = run_variation(scenario, {.replays_allocator = false});
  return std::get<Run>(outcome).summary.step_time;
}

std::optional<reports::Why> explain(Answered const& question, std::size_t place) {
  auto const* const step = question.run(place);
  if (step == nullptr) return std::nullopt;
  auto const& scenario = question.scenarios[place];
  auto why = reports::Why{.title = scenario.strategy_title,
                          .step_time = step->summary.step_time,
                          .without_communication = time_without_communication(scenario)};
  for (auto const& candidate : Candidates{scenario, question.strategy_path(place)}.take())
    if (auto change = helpful(question, place, candidate, why.step_time)) why.changes.push_back(std::move(*change));
  std::ranges::stable_sort(why.changes, {}, &reports::Change::step_time);
  why.assumptions = assumptions_of(question, place);
  return why;
}

}  // namespace twinstep::explore
