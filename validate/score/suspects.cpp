#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "hw_profiles/reader.hpp"
#include "validate/score/diagnosis.hpp"

namespace twinstep::validate {
namespace {

using hardware::Cluster;
using hardware::IntraNode;

/// How far a fault goes, in its own measure: NICs that are left, halvings of PCIe's rate.
using Degree = std::int64_t;

/// A kind of fault.
struct Fault {
  std::string_view kind;
  bool (*applies)(CollectiveCase const& one);
  std::vector<Degree> (*degrees)(CollectiveCase const& one);  ///< the mildest first
  std::string (*sentence)(CollectiveCase const& one, Degree degree);
  void (*change)(Cluster& cluster, CollectiveCase const& one, Degree degree);
};

bool leaves_node(CollectiveCase const& one) {
  return one.layout().nodes() > 1;
}

bool shares_node(CollectiveCase const& one) {
  return one.layout().most_ranks_per_node() > 1;
}

bool is_linked_by_pcie(hardware::Node const& node) {
  return node.intra == IntraNode::kPcieP2p || node.intra == IntraNode::kPcieStaged;
}

bool is_set(CollectiveCase const& one, std::string const& variable) {
  return one.cluster().library.environment.contains(variable);
}

std::vector<Degree> once(CollectiveCase const& /*one*/) {
  return {1};
}

/// The counts that divide all NICs: GPUs share them evenly, as NCCL's channels do.
std::vector<Degree> fewer_nics(CollectiveCase const& one) {
  auto const all = one.cluster().nics();
  auto counts = std::vector<Degree>{};
  for (auto count = all / 2; count >= 1; --count)
    if (all % count == 0) counts.push_back(count);
  return counts;
}

hardware::Transport sockets() {
  return hw_profiles::read_transport(io::string_node("tcp", "transport"));
}

/// A generation of PCI Express has half the rate of the next one, and a slot of 16 lanes of the third 8 GT/s with 128
/// bits in 130 (PCI Express Base Specification 3.0).
constexpr auto kThirdGeneration = BytesPerSecond{8e9 * 16 / 8 * 128 / 130};
constexpr std::int64_t kLatestGeneration = 6;
constexpr std::int64_t kLanes = 16;

/// Of the GPU's slot; nothing if it is older, or no PCIe.
std::optional<std::int64_t> generation_of(Cluster const& cluster) {
  auto const& slot = cluster.node().gpu.pcie;
  auto const generation = slot ? 3 + std::llround(std::log2(slot->value / kThirdGeneration)) : 0;
  return generation >= 3 && generation <= kLatestGeneration ? std::optional<std::int64_t>{generation} : std::nullopt;
}

std::string slower_pcie(CollectiveCase const& one, Degree halvings) {
  auto const generation = *generation_of(one.cluster()) - halvings;
  return fmt::format("PCIe at {} of its rate ({}{} lanes)", halvings == 1 ? "half" : "a quarter",
                     generation >= 3 ? fmt::format("Gen{}, or ", generation) : "", kLanes >> halvings);
}

/// Of GPUs and NICs; the latter run no faster than their slots.
void slow_pcie(Cluster& cluster, CollectiveCase const& /*one*/, Degree halvings) {
  auto& node = cluster.node();
  auto const share = std::exp2(-static_cast<double>(halvings));
  if (is_linked_by_pcie(node)) node.gpu_link.value = node.gpu_link.value * share;
  node.pcie.value = node.pcie.value * share;
  if (auto& slot = node.gpu.pcie) slot->value = slot->value * share;
  node.nic.value = std::min(node.nic.value, node.pcie.value);
}

void lose_peers(Cluster& cluster) {
  auto& node = cluster.node();
  node.gpu_link = node.gpu.pcie.value_or(node.pcie);
  node.intra = IntraNode::kPcieStaged;
  node.link = hw_profiles::read_link(io::string_node("pcie-staged", "link"));
}

/// Fewer than NCCL's search finds, which together fill the narrowest links.
std::vector<Degree> few_channels(CollectiveCase const& one) {
  auto counts = std::vector<Degree>{};
  for (auto count = one.graph().ring.count / 2; count >= 1; count /= 2) counts.push_back(count);
  return counts;
}

/// Each has the speed that the search gave it, as in NCCL's cost model (src/graph/tuning.cc: the number of channels
/// times their speed), so that links carry only their part.
void limit_channels(Cluster& cluster, CollectiveCase const& one, Degree left) {
  auto const share = static_cast<double>(left) / static_cast<double>(one.graph().ring.count);
  cluster.library.environment["NCCL_MAX_NCHANNELS"] = std::to_string(left);
  cluster.node().gpu_link.value = cluster.node().gpu_link.value * share;
  cluster.node().nic.value = cluster.node().nic.value * share;
}

/// Of a launcher, what another one would take for a call.
std::vector<Degree> other_launchers(CollectiveCase const& one) {
  auto others = std::vector<Degree>{};
  for (std::size_t each = 0; each < one.cluster().library.launchers.size(); ++each)
    if (each != static_cast<std::size_t>(one.record().launcher)) others.push_back(static_cast<Degree>(each));
  return others;
}

void launch_by(Cluster& cluster, CollectiveCase const& one, Degree other) {
  auto& launchers = cluster.library.launchers;
  launchers[static_cast<std::size_t>(one.record().launcher)] = launchers[static_cast<std::size_t>(other)];
}

/// Packets between devices turn round at the root instead of a switch, where each passes twice (PCI Express Base
/// Specification 3.0, sections 6.12 and 10).
void redirect_to_root(Cluster& cluster) {
  auto& node = cluster.node();
  if (is_linked_by_pcie(node)) node.gpu_link.value = node.gpu_link.value * 0.5;
  node.nic.value = std::min(node.nic.value, node.pcie.value * 0.5);
}

auto const kFaults = std::to_array<Fault>({
    {"NVLS switched off",
     [](CollectiveCase const& one) {
       return shares_node(one) && one.cluster().node().intra == IntraNode::kNvSwitch &&
              one.cluster().node().link.multicast_efficiency.value > 0 && !is_set(one, "NCCL_NVLS_ENABLE");
     },
     once, [](CollectiveCase const&, Degree) { return std::string{"NVLS switched off"}; },
     [](Cluster& cluster, CollectiveCase const&, Degree) { cluster.library.environment["NCCL_NVLS_ENABLE"] = "0"; }},
    {"no GPUDirect",
     [](CollectiveCase const& one) { return leaves_node(one) && one.cluster().fabric.transport.has_gpu_direct; }, once,
     [](CollectiveCase const&, Degree) { return std::string{"no GPUDirect (data bounces through host memory)"}; },
     [](Cluster& cluster, CollectiveCase const&, Degree) { cluster.fabric.transport.has_gpu_direct = false; }},
    {"fewer NICs", leaves_node, fewer_nics,
     [](CollectiveCase const& one, Degree left) {
       return fmt::format("{} of {} NICs in use", left, one.cluster().nics());
     },
     [](Cluster& cluster, CollectiveCase const&, Degree left) { cluster.fabric.ports_per_node = left; }},
    {"slower PCIe",
     [](CollectiveCase const& one) {
       return generation_of(one.cluster()) && (leaves_node(one) || is_linked_by_pcie(one.cluster().node()));
     },
     [](CollectiveCase const&) {
       return std::vector<Degree>{1, 2};
     },
     slower_pcie, slow_pcie},
    {"TCP instead of RDMA",
     [](CollectiveCase const& one) { return leaves_node(one) && one.cluster().fabric.transport.is_rdma; }, once,
     [](CollectiveCase const&, Degree) { return std::string{"TCP instead of RDMA"}; },
     [](Cluster& cluster, CollectiveCase const&, Degree) { cluster.fabric.transport = sockets(); }},
    {"no peer-to-peer inside the node",
     [](CollectiveCase const& one) { return shares_node(one) && one.cluster().node().intra != IntraNode::kPcieStaged; },
     once, [](CollectiveCase const&, Degree) { return std::string{"no peer-to-peer between GPUs of a node"}; },
     [](Cluster& cluster, CollectiveCase const&, Degree) { lose_peers(cluster); }},
    {"PCIe by way of the root",
     [](CollectiveCase const& one) {
       return (leaves_node(one) && one.cluster().fabric.transport.has_gpu_direct) ||
              one.cluster().node().intra == IntraNode::kPcieP2p;
     },
     once,
     [](CollectiveCase const&, Degree) { return std::string{"PCIe by way of the root (ACS on, or no ATS in a VM)"}; },
     [](Cluster& cluster, CollectiveCase const&, Degree) { redirect_to_root(cluster); }},
    {"half of the NVLinks",
     [](CollectiveCase const& one) { return shares_node(one) && one.cluster().node().link.is_nvlink; }, once,
     [](CollectiveCase const&, Degree) { return std::string{"half of each GPU's NVLinks"}; },
     [](Cluster& cluster, CollectiveCase const&, Degree) {
       if (cluster.node().link.is_nvlink) cluster.node().gpu_link.value = cluster.node().gpu_link.value * 0.5;
     }},
    {"fewer channels",
     [](CollectiveCase const& one) { return !is_set(one, "NCCL_MAX_NCHANNELS") && !is_set(one, "NCCL_MIN_NCHANNELS"); },
     few_channels,
     [](CollectiveCase const& one, Degree left) {
       return fmt::format("{} of {} channels", left, one.graph().ring.count);
     },
     limit_channels},
    {"another launcher", [](CollectiveCase const&) { return true; }, other_launchers,
     [](CollectiveCase const&, Degree other) {
       return fmt::format("a benchmark started as {}", name_of(static_cast<hardware::Launcher>(other)));
     },
     launch_by},
    {"a slow transport", leaves_node,
     [](CollectiveCase const&) {
       return std::vector<Degree>{10, 30, 100};
     },
     [](CollectiveCase const&, Degree more) { return fmt::format("network steps that take {} us longer", more); },
     [](Cluster& cluster, CollectiveCase const&, Degree more) {
       cluster.fabric.transport.step_latency.value += Duration{more * 1'000'000};
     }},
});

}  // namespace

std::vector<Suspect> suspects_of(CollectiveCase const& one) {
  auto suspects = std::vector<Suspect>{};
  for (auto const& fault : kFaults) {
    if (!fault.applies(one)) continue;
    for (auto const degree : fault.degrees(one))
      suspects.push_back({fault.kind, fault.sentence(one, degree),
                          [&fault, &one, degree](Cluster& cluster) { fault.change(cluster, one, degree); }});
  }
  return suspects;
}

}  // namespace twinstep::validate
