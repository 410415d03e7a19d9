#include "explore/ask/scenario.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "explore/ask/parts.hpp"
#include "explore/ask/question.hpp"
#include "explore/ask/strategy_titles.hpp"
#include "explore/ask/users_file.hpp"
#include "sim/base/input_error.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::explore {
namespace {

/// What names the scenario's GPU: its own value, or else its cluster.
io::Node gpu_of(io::Node const& document) {
  auto cluster = document.at("cluster");
  if (!cluster.is(io::Node::Type::kObject)) return cluster;
  if (auto const gpu = cluster.find("gpu")) return *gpu;
  auto const node = cluster.find("node");
  return node && node->is(io::Node::Type::kObject) ? node->find("gpu").value_or(cluster) : cluster;
}

/// A GPU without a rate for a type of the plan cannot compute in it. Where the type is not written, or the command line
/// names the GPU and not the type, the GPU is what does not fit.
void check_rates(io::Node const& document, io::Node const& training, Scenario const& scenario) {
  auto const& gpu = scenario.cluster->node().gpu;
  auto const is_setting = [](io::Node const& node) { return !node.source().has_lines; };
  auto const check = [&](char const* key, DataType type) {
    if (gpu.peak(type)) return;
    auto known = std::vector<std::string_view>{};
    for (auto const& peak : gpu.peaks) known.push_back(name_of(peak.type));
    auto const written = training.find(key);
    auto const named = gpu_of(document);
    auto const& place = written && (is_setting(*written) || !is_setting(named)) ? *written : named;
    place.fail(fmt::format("{} has no rate for {}", gpu.name, name_of(type)),
               fmt::format("set training.{} to one of {}, or use another GPU", key, fmt::join(known, ", ")));
  };
  check("precision", scenario.plan.kernels.precision);
  if (scenario.plan.kernels.linear_type) check("linear_type", *scenario.plan.kernels.linear_type);
}

/// Nothing can be offloaded to drives that a node does not have.
void check_drives(io::Node const& strategy, Scenario const& scenario) {
  using enum strategies::OffloadPlace;
  auto const& offload = scenario.plan.states.offload;
  if (scenario.cluster->node().drives || (offload.optimizer != kNvme && offload.parameters != kNvme)) return;
  strategy.at("offload")
      .at(offload.optimizer == kNvme ? "optimizer" : "parameters")
      .fail(fmt::format("found NVMe, and {} describes no drives", scenario.cluster->node().name),
            "use \"cpu\", or give cluster.node.drives their \"read\", \"write\" and \"capacity\"");
}

/// What stands where an object belongs is most often its name. Throws InputError that shows the object to write.
void refuse_name(io::Node const& value, std::string_view key, std::string_view name) {
  if (!value.is(io::Node::Type::kString)) return;
  value.fail(fmt::format("found {}, expected an object in braces", quoted(value.string())),
             fmt::format("write it like {{\"{}\": \"{}\"}}", key, name));
}

/// What all scenarios of the document have.
Scenario common_of(io::Node const& document, std::string const& folder, std::shared_ptr<Parts> const& parts) {
  auto common = Scenario{.cluster = {}, .model = {}, .plan = {}, .warnings = {}, .strategy_title = {}, .parts = parts};
  auto cluster = parts->cluster(document.at("cluster"));
  common.cluster = std::move(cluster.value);
  common.warnings = std::move(cluster.warnings);
  refuse_name(document.at("model"), "hf_config", "PATH/config.json");
  auto const model = parts->model(document.at("model"), folder);
  common.model = model->value;
  common.warnings.insert(common.warnings.end(), model->warnings.begin(), model->warnings.end());
  return common;
}

}  // namespace

std::string Scenario::title() const {
  return one_line(fmt::format("{}, {}, {} rank{} on {} × {} ({}){}", model_name(model), strategy_title,
                              plan.parallel.world(), plan.parallel.world() == 1 ? "" : "s", cluster->nodes(),
                              cluster->node().name, cluster->name, network_is_free ? ", communication free" : ""));
}

Scenario on(hardware::Cluster cluster, Scenario scenario) {
  scenario.cluster = std::make_shared<hardware::Cluster const>(std::move(cluster));
  scenario.parts.reset();
  return scenario;
}

std::vector<Scenario> read_scenarios(io::Node const& document, std::string const& folder,
                                     std::shared_ptr<Parts> const& parts) {
  document.allow_only({"cluster", "model", "training", "strategy", "network"});
  auto common = common_of(document, folder, parts);
  auto const strategy = document.at("strategy");
  auto const is_list = strategy.is(io::Node::Type::kArray);
  auto const strategies = is_list ? strategy.elements() : std::vector{strategy};
  if (strategies.empty()) strategy.fail("found no strategy", "name at least one");
  auto written = std::vector<Written>{};
  for (auto const& each : strategies) {
    refuse_name(each, "name", "zero-3");
    written.push_back(with_users_file(document, each, folder, *parts, common.warnings));
  }
  if (auto const network = document.find("network")) {
    network->allow_only({"free"});
    common.network_is_free = network->at("free").boolean();
  }
  common.is_one_of_several = is_list;
  auto scenarios = std::vector<Scenario>(written.size() - 1, common);
  scenarios.push_back(std::move(common));
  for (std::size_t i = 0; i < written.size(); ++i) {
    auto const& [training, each] = written[i];
    scenarios[i].plan = read_plan(training, each, scenarios[i].model, scenarios[i].cluster->gpus());
    check_rates(document, training, scenarios[i]);
    check_drives(each, scenarios[i]);
  }
  auto const titles = strategy_titles(written);
  for (std::size_t i = 0; i < written.size(); ++i) scenarios[i].strategy_title = titles[i];
  return scenarios;
}

}  // namespace twinstep::explore
