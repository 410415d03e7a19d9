#include "explore/scale/parameters.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "explore/ask/ask.hpp"
#include "explore/ask/parallel.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::explore {
namespace {

using hardware::Cluster;
using hardware::Sourced;

constexpr double kStep = 0.1;

void scale_value(Sourced<double>& number, double factor) {
  number.value *= factor;
}
void scale_value(Sourced<BytesPerSecond>& rate, double factor) {
  rate.value *= factor;
}
void scale_value(Sourced<FlopsPerSecond>& rate, double factor) {
  rate.value *= factor;
}
void scale_value(Sourced<Duration>& time, double factor) {
  time.value = Duration{std::llround(static_cast<double>(time.value.count()) * factor)};
}

/// A parameter that is one number: `member` finds it in a cluster.
template <class Member>
Parameter one(std::string name, std::string path, bool helps, Member member) {
  return {std::move(name), std::move(path), helps,
          [member](Cluster& cluster, double factor) { scale_value(member(cluster), factor); }};
}

void add_gpu(std::vector<Parameter>& out) {
  out.push_back({"arithmetic peak", "cluster.gpu.peaks", true, [](Cluster& cluster, double factor) {
                   for (auto& peak : cluster.node().gpu.peaks) scale_value(peak.rate, factor);
                 }});
  out.push_back(one(
      "memory bandwidth", "cluster.gpu.memory_bandwidth", true,
      [](Cluster & c) -> auto& { return c.node().gpu.memory_bandwidth; }));
  out.push_back({"GEMM efficiency", "cluster.gpu.efficiency.gemm and, in 8 bits, cluster.gpu.efficiency.gemm_fp8", true,
                 [](Cluster& cluster, double factor) {
                   scale_value(cluster.node().gpu.efficiency.gemm, factor);
                   if (auto& in_8_bits = cluster.node().gpu.efficiency.gemm_fp8) scale_value(*in_8_bits, factor);
                 }});
  out.push_back({"attention efficiency",
                 "cluster.gpu.efficiency.attention_forward and cluster.gpu.efficiency.attention_backward, or the "
                 "attention_kernels' that the stack names",
                 true, [](Cluster& cluster, double factor) {
                   auto& efficiency = cluster.node().gpu.efficiency;
                   scale_value(efficiency.attention_forward, factor);
                   scale_value(efficiency.attention_backward, factor);
                   for (auto& kernel : efficiency.attention_kernels) {
                     scale_value(kernel.forward, factor);
                     scale_value(kernel.backward, factor);
                   }
                 }});
  out.push_back(one(
      "gap between kernels", "cluster.gpu.kernel_start", false,
      [](Cluster & c) -> auto& { return c.node().gpu.kernel_start; }));
}

void add_host(std::vector<Parameter>& out, strategies::Plan const& plan) {
  out.push_back(one(
      "launch of a kernel", "cluster.node.host.launch", false,
      [](Cluster & c) -> auto& { return c.node().host.launch; }));
  out.push_back(one(
      "launch of a collective", "cluster.node.host.communication_launch", false,
      [](Cluster & c) -> auto& { return c.node().host.communication_launch; }));
  if (plan.offload == strategies::OffloadOptions{}) return;
  out.push_back(one(
      "host memory bandwidth", "cluster.node.host.memory_bandwidth", true,
      [](Cluster & c) -> auto& { return c.node().host.memory_bandwidth; }));
}

void add_node(std::vector<Parameter>& out, Cluster const& cluster) {
  auto const name = cluster.node().link.is_nvlink ? "NVLink rate" : "rate between GPUs of a node";
  if (cluster.node().gpus > 1)
    out.push_back(one(
        name, "cluster.node.gpu_link", true, [](Cluster & c) -> auto& { return c.node().gpu_link; }));
  out.push_back(one(
      "PCIe rate", "cluster.node.pcie", true, [](Cluster & c) -> auto& { return c.node().pcie; }));
  out.push_back(one(
      "start of a collective's kernel", "cluster.library.kernel_start", false,
      [](Cluster & c) -> auto& { return c.library.kernel_start; }));
  out.push_back({"latencies of the library's protocols", "cluster.library.protocols.*.latency_factor", false,
                 [](Cluster& c, double factor) {
                   for (auto& protocol : c.library.protocols) scale_value(protocol.latency_factor, factor);
                 }});
}

void add_fabric(std::vector<Parameter>& out, Cluster const& cluster) {
  if (cluster.nodes() < 2) return;
  out.push_back(
      {"NIC rate, with its port", "cluster.node.nic and cluster.fabric.port", true, [](Cluster& c, double factor) {
         scale_value(c.node().nic, factor);
         scale_value(c.fabric.port, factor);
       }});
  out.push_back(one(
      "latency of a network step", "cluster.fabric.transport.step_latency", false,
      [](Cluster & c) -> auto& { return c.fabric.transport.step_latency; }));
  out.push_back({"latency of switches", "cluster.fabric.levels.*.hop_latency", false, [](Cluster& c, double factor) {
                   for (auto& level : c.fabric.levels) scale_value(level.hop_latency, factor);
                 }});
  for (std::size_t i = 0; i < cluster.fabric.levels.size(); ++i)
    if (cluster.nodes() > cluster.fabric.levels[i].nodes)
      out.push_back(one(
          fmt::format("oversubscription of the {}", cluster.fabric.levels[i].name),
          fmt::format("cluster.fabric.levels.{}.oversubscription", i),
          false, [i](Cluster & c) -> auto& { return c.fabric.levels[i].oversubscription; }));
}

/// The relative change of the step's time by each parameter, scaled by its `factor`, alone.
template <class FactorOf>
std::vector<double> changes_by(Scenario const& scenario, std::vector<Parameter> const& parameters,
                               FactorOf const& factor) {
  auto const times = map_indices(parameters.size() + 1, [&](std::size_t i) {
    auto cluster = *scenario.cluster;
    if (i < parameters.size()) parameters[i].scale(cluster, factor(parameters[i]));
    auto const outcome = run_variation(on(std::move(cluster), scenario), {.replays_allocator = false});
    return std::get<Run>(outcome).summary.step_time;
  });
  auto changes = std::vector<double>{};
  for (std::size_t i = 0; i < parameters.size(); ++i) changes.push_back(reports::share(times[i], times.back()) - 1);
  return changes;
}

}  // namespace

std::vector<Parameter> parameters_of(Scenario const& scenario) {
  auto out = std::vector<Parameter>{};
  add_gpu(out);
  add_host(out, scenario.plan);
  add_node(out, *scenario.cluster);
  add_fabric(out, *scenario.cluster);
  return out;
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
