#include "app/scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "strategies/model/read_model.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::app {
namespace {

/// A GPU without a rate for the plan's type cannot train in it.
void check_precision(io::Node const& training, Scenario const& scenario) {
  auto const& gpu = scenario.cluster.node.gpu;
  if (gpu.peak(scenario.plan.precision)) return;
  auto known = std::string{};
  for (auto const& peak : gpu.peaks) known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(peak.type));
  auto const place = training.find("precision").value_or(training);
  place.fail(fmt::format("{} has no rate for {}", gpu.name, name_of(scenario.plan.precision)),
             fmt::format("use one of {}", known));
}

/// Whether the scenario changes more of a profile than the number of nodes.
bool is_changed(io::Node const& cluster) {
  if (!cluster.is(io::Node::Type::kObject) || !cluster.has("profile")) return false;
  auto const parts = {"gpu", "node", "fabric", "collectives"};
  return std::ranges::any_of(parts, [&](char const* part) { return cluster.has(part); });
}

/// The strategy's name and what else the scenario says about it; " (2)" and so on where that was said before.
std::string strategy_title(strategies::Plan const& plan, io::Node const& strategy,
                           std::vector<Scenario> const& earlier) {
  auto title = std::string{name_of(plan.strategy)};
  if (plan.recompute == strategies::Recompute::kFull) title += " + recompute";
  for (auto const* const key : {"ranks", "bucket", "first_bucket"})
    if (auto const value = strategy.find(key))
      title += fmt::format(
          ", {} {}", key,
          value->is(io::Node::Type::kString) ? std::string{value->string()} : std::to_string(value->integer()));
  auto const is_same = [&](Scenario const& other) {
    return other.strategy_title == title || other.strategy_title.starts_with(title + " (");
  };
  if (auto const same = std::ranges::count_if(earlier, is_same); same > 0) title += fmt::format(" ({})", same + 1);
  return title;
}

/// What stands where an object belongs is most often its name. Throws InputError that shows the object to write.
void refuse_name(io::Node const& value, std::string_view key, std::string_view name) {
  if (!value.is(io::Node::Type::kString)) return;
  value.fail(fmt::format("found {}, expected an object in braces", quoted(value.string())),
             fmt::format("write it like {{\"{}\": \"{}\"}}", key, name));
}

}  // namespace

std::string Scenario::title() const {
  return one_line(fmt::format("{}, {}, {} rank{} on {} × {} ({})", model_name(model), strategy_title, plan.ranks,
                              plan.ranks == 1 ? "" : "s", cluster.nodes, cluster.node.name, cluster.name));
}

std::vector<Scenario> read_scenarios(std::string const& path, std::vector<std::string> const& settings) {
  auto document = io::parse_file(path);
  for (auto const& setting : settings) document = io::with_setting(document, setting);
  document.allow_only({"cluster", "model", "training", "strategy"});

  auto common = Scenario{};
  auto const cluster = document.at("cluster");
  common.cluster = hw_profiles::read_cluster(cluster, common.warnings);
  if (is_changed(cluster)) common.cluster.name += ", changed";
  auto const directory = std::filesystem::path{path}.parent_path().string();
  refuse_name(document.at("model"), "hf_config", "PATH/config.json");
  common.model = strategies::read_model(document.at("model"), directory, common.warnings);

  auto const strategy = document.at("strategy");
  auto const is_list = strategy.is(io::Node::Type::kArray);
  auto const strategies = is_list ? strategy.elements() : std::vector{strategy};
  if (strategies.empty()) strategy.fail("found no strategy", "name at least one");
  auto scenarios = std::vector<Scenario>{};
  for (auto const& each : strategies) {
    refuse_name(each, "name", "zero-3");
    auto scenario = common;
    scenario.plan = read_plan(document.at("training"), each, scenario.model, scenario.cluster.gpus());
    check_precision(document.at("training"), scenario);
    scenario.strategy_title = strategy_title(scenario.plan, each, scenarios);
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

}  // namespace twinstep::app
