#pragma once

#include <map>
#include <string>

#include <fmt/format.h>

#include "hw_profiles/embedded.hpp"
#include "hw_profiles/tuning_reader.hpp"
#include "sim/base/input_error.hpp"
#include "sim/collectives/tuner/tuner.hpp"
#include "sim/io/document.hpp"

/// Machines as NCCL's tuner sees them, with the constants of one version.
namespace twinstep::tests {

using namespace twinstep::literals;
using namespace twinstep::collectives;
using namespace twinstep::collectives::tuner;
using hardware::Algorithm;
using hardware::Protocol;
using program::Reduction;

inline io::Node shipped_versions() {
  for (auto const& file : hw_profiles::embedded_files())
    if (file.folder == "tuning") return io::parse({std::string{file.name}, std::string{file.text}}).at("versions");
  throw InputError{"no tuning is shipped"};
}

inline hardware::Tuning tuning(std::string_view version = "") {
  return hw_profiles::read_tuning(shipped_versions(), version);
}

/// What the tuner reads of a machine. Rates one way, as datasheets have them.
struct Facts {
  std::int64_t capability = 90;
  BytesPerSecond nvlink;
  BytesPerSecond pcie = BytesPerSecond{63e9};
  BytesPerSecond nic = 50_GBps;
  hardware::IntraNode intra = hardware::IntraNode::kNvSwitch;
  hardware::CpuVendor cpu = hardware::CpuVendor::kIntel;
  std::int64_t gpus = 8;
  std::int64_t nics = 8;
  std::optional<std::int64_t> gpus_per_host = std::nullopt;
};
inline auto const kH100 = Facts{.capability = 90, .nvlink = 450_GBps};
inline auto const kA100 = Facts{.capability = 80, .nvlink = 300_GBps, .pcie = BytesPerSecond{31.5e9}, .nic = 25_GBps};
inline auto const kB200 = Facts{.capability = 100, .nvlink = 900_GBps};
inline auto const kTwoCards = Facts{.capability = 89,
                                    .nvlink = BytesPerSecond{31.5e9},
                                    .pcie = BytesPerSecond{31.5e9},
                                    .nic = BytesPerSecond{1.25e9},
                                    .intra = hardware::IntraNode::kPcieP2p,
                                    .gpus = 2,
                                    .nics = 1};

inline hardware::Cluster cluster_of(Facts const& facts, std::int64_t nodes) {
  auto cluster = hardware::Cluster{};
  cluster.nodes() = nodes;
  auto& node = cluster.node();
  node.gpu.compute_capability = {facts.capability};
  node.gpu.memory_bandwidth.value = 1000_GBps;
  node.gpu.pcie = {facts.pcie};
  node.pcie.value = facts.pcie;
  node.gpus = facts.gpus;
  node.gpus_per_host = facts.gpus_per_host;
  node.intra = facts.intra;
  node.gpu_link.value = facts.nvlink;
  node.link.is_nvlink = facts.intra != hardware::IntraNode::kPcieP2p;
  node.link.multicast_efficiency.value = facts.capability >= 90 ? 0.7 : 0;
  node.nics = facts.nics;
  node.nic.value = facts.nic;
  node.host.cpu = facts.cpu;
  node.host.memory_bandwidth.value = 200_GBps;
  cluster.fabric.port.value = facts.nic;
  cluster.fabric.levels = {{"leaf", nodes, {1.0}, {100_ns}}};
  return cluster;
}

/// A machine with one version of NCCL, and its graph for a group that has the first `per_node` GPUs of each node.
struct Machine {
  hardware::Cluster cluster;
  Environment environment;
  topology::Topology topology;
  Layout layout;
  Graph graph;

  Machine(Facts const& facts, std::int64_t nodes, std::int64_t per_node, std::string_view version = "",
          std::map<std::string, std::string> const& variables = {})
      : cluster{cluster_of(facts, nodes)},
        environment{read_environment(variables)},
        topology{cluster},
        layout{nodes * per_node, {{nodes, per_node}}, 0, 1, 0, 1, 1} {
    cluster.library.tuning = tuning(version);
    cluster.library.environment = variables;
    graph = find_graph(Placement{layout, cluster, topology}, cluster, environment);
  }
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;

  [[nodiscard]] TunerRequest request(CollectiveKind kind, Bytes size, Reduction reduction = Reduction::kSum,
                                     DataType type = DataType::kFp32) const {
    return {kind, size, reduction, type, graph, environment, cluster};
  }
  [[nodiscard]] Tuned row(CollectiveKind kind, Bytes size, Algorithm algorithm,
                          Protocol protocol = Protocol::kSimple) const {
    return row_of(request(kind, size), algorithm, protocol);
  }
  static Tuned row_of(TunerRequest const& request, Algorithm algorithm, Protocol protocol = Protocol::kSimple) {
    for (auto const& each : tune(request))
      if (each.algorithm == algorithm && each.protocol == protocol) return each;
    throw InputError{"no such row"};
  }
  [[nodiscard]] Tuned chosen(CollectiveKind kind, Bytes size) const {
    auto const asked = request(kind, size);
    auto const table = tune(asked);
    return best(table, asked);
  }
};

/// What is chosen as sizes grow by powers of two from 8 bytes to 16 GiB: "ring/ll, 2 MiB nvls/simple".
inline std::string choices(Machine const& machine, CollectiveKind kind) {
  auto text = std::string{};
  auto previous = std::string{};
  for (auto power = 3; power <= 34; ++power) {
    auto const row = machine.chosen(kind, Bytes{std::int64_t{1} << power});
    auto const name = fmt::format("{}/{}", name_of(row.algorithm), name_of(row.protocol));
    if (name == previous) continue;
    auto const unit = power >= 30 ? "GiB" : power >= 20 ? "MiB" : "KiB";
    text += previous.empty() ? name : fmt::format(", {} {} {}", 1 << (power % 10), unit, name);
    previous = name;
  }
  return text;
}

inline auto const kH100Ring = Channels{12, 30_GBps, 30_GBps};
inline auto const kA100Ring = Channels{12, 20_GBps, 20_GBps};
inline auto const kB200Ring = Channels{16, 45_GBps, 45_GBps};
inline constexpr auto kAllReduce = CollectiveKind::kAllReduce;
inline constexpr auto kAllGather = CollectiveKind::kAllGather;
inline constexpr auto kReduceScatter = CollectiveKind::kReduceScatter;

}  // namespace twinstep::tests
