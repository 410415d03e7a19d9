#include "explore/scale/parameters.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/parallel.hpp"
#include "hw_profiles/number_path.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/check.hpp"

namespace twinstep::explore {
namespace {

constexpr double kStep = 0.1;

/// Lists the parameters of a cluster.
class List {
 public:
  explicit List(hardware::Cluster const& cluster) : cluster_{cluster} {}

  void add(std::string name, std::string number) {
    auto path = fmt::format("cluster.{}", number);
    add(std::move(name), {std::move(number)}, std::move(path));
  }
  /// Several numbers, and how people read their paths.
  void add(std::string name, std::vector<std::string> numbers, std::string path) {
    auto const first = hw_profiles::number_at(cluster_, numbers.front());
    TWINSTEP_CHECK(first.has_value(), "a parameter is a number of the cluster");
    parameters_.push_back({std::move(name), std::move(path), std::move(numbers), first->more_helps});
  }
  [[nodiscard]] std::vector<Parameter> parameters() && { return std::move(parameters_); }

 private:
  hardware::Cluster const& cluster_;
  std::vector<Parameter> parameters_;
};

void add_gpu(List& list) {
  list.add("arithmetic peak", "gpu.peaks");
  list.add("memory bandwidth", "gpu.memory_bandwidth");
  list.add("GEMM efficiency", {"gpu.efficiency.gemm", "gpu.efficiency.gemm_fp8"},
           "cluster.gpu.efficiency.gemm and, in 8 bits, cluster.gpu.efficiency.gemm_fp8");
  list.add(
      "attention efficiency",
      {"gpu.efficiency.attention_forward", "gpu.efficiency.attention_backward", "gpu.efficiency.attention_kernels"},
      "cluster.gpu.efficiency.attention_forward and cluster.gpu.efficiency.attention_backward, or the "
      "attention_kernels' that the stack names");
  list.add("gap between kernels", "gpu.kernel_start");
}

void add_host(List& list, strategies::Plan const& plan) {
  list.add("launch of a kernel", "node.host.launch");
  list.add("launch of a collective", "node.host.communication_launch");
  if (plan.states.offload != strategies::Offload{}) list.add("host memory bandwidth", "node.host.memory_bandwidth");
}

void add_node(List& list, hardware::Node const& node) {
  if (node.gpus > 1) list.add(node.link.is_nvlink ? "NVLink rate" : "rate between GPUs of a node", "node.gpu_link");
  list.add("PCIe rate", "node.pcie");
  list.add("start of a collective's kernel", "library.kernel_start");
  list.add("latencies of the library's protocols", "library.protocols.*.latency_factor");
}

void add_fabric(List& list, hardware::Cluster const& cluster) {
  if (cluster.nodes() < 2) return;
  list.add("NIC rate, with its port", {"node.nic", "fabric.port"}, "cluster.node.nic and cluster.fabric.port");
  list.add("latency of a network step", "fabric.transport.step_latency");
  list.add("latency of switches", "fabric.levels.*.hop_latency");
  for (std::size_t i = 0; i < cluster.fabric.levels.size(); ++i)
    if (cluster.nodes() > cluster.fabric.levels[i].nodes)
      list.add(fmt::format("oversubscription of the {}", cluster.fabric.levels[i].name),
               fmt::format("fabric.levels.{}.oversubscription", i));
}

void scale(hardware::Cluster& cluster, Parameter const& parameter, double factor) {
  for (auto const& number : parameter.numbers) hw_profiles::scale_numbers(cluster, number, factor);
}

/// The relative change of the step's time by each parameter, scaled by its `factor`, alone.
template <class FactorOf>
std::vector<double> changes_by(Scenario const& scenario, std::vector<Parameter> const& parameters,
                               FactorOf const& factor) {
  auto const times = map_indices(parameters.size() + 1, [&](std::size_t i) {
    auto cluster = *scenario.cluster;
    if (i < parameters.size()) scale(cluster, parameters[i], factor(parameters[i]));
    auto const outcome = run_variation(on(std::move(cluster), scenario), {.replays_allocator = false});
    return std::get<Run>(outcome).summary.step_time;
  });
  auto changes = std::vector<double>{};
  for (std::size_t i = 0; i < parameters.size(); ++i) changes.push_back(reports::share(times[i], times.back()) - 1);
  return changes;
}

}  // namespace

std::vector<Parameter> parameters_of(Scenario const& scenario) {
  auto list = List{*scenario.cluster};
  add_gpu(list);
  add_host(list, scenario.plan);
  add_node(list, scenario.cluster->node());
  add_fabric(list, *scenario.cluster);
  return std::move(list).parameters();
}

double Effect::size() const {
  return std::max(std::abs(more), std::abs(less));
}

std::vector<Effect> effects_of(Scenario const& scenario) {
  auto const parameters = parameters_of(scenario);
  auto const more = changes_by(scenario, parameters, [](Parameter const&) { return 1 + kStep; });
  auto const less = changes_by(scenario, parameters, [](Parameter const&) { return 1 - kStep; });
  auto effects = std::vector<Effect>{};
  for (std::size_t i = 0; i < parameters.size(); ++i) effects.push_back({parameters[i], more[i], less[i]});
  std::ranges::stable_sort(effects, std::greater{}, &Effect::size);
  return effects;
}

std::vector<Saving> savings_of(Scenario const& scenario) {
  auto const parameters = parameters_of(scenario);
  auto const changes =
      changes_by(scenario, parameters, [](Parameter const& each) { return each.helps ? 1 + kStep : 1 - kStep; });
  auto savings = std::vector<Saving>{};
  for (std::size_t i = 0; i < parameters.size(); ++i) savings.push_back({parameters[i].name, -changes[i]});
  std::ranges::stable_sort(savings, std::greater{}, &Saving::share);
  return savings;
}

}  // namespace twinstep::explore
