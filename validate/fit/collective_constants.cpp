#include "validate/fit/collective_constants.hpp"

#include <array>

#include "hw_profiles/number_path.hpp"

namespace twinstep::validate {
namespace {

using hardware::Cluster;
using hardware::Launcher;

/// What NCCL's tuner believes that LL reaches inside a node: the unit in which a link's limit is fitted.
BytesPerSecond tuner_ll_limit(Cluster const& cluster) {
  auto const architecture = cluster.node().gpu.architecture();
  return cluster.library.tuning.ll_limit[static_cast<std::size_t>(architecture)].front();
}

bool is_inside(CollectiveCase const& one) {
  return one.layout().most_ranks_per_node() > 1;
}
bool is_between(CollectiveCase const& one) {
  return one.layout().nodes() > 1;
}
bool is_exchange(CollectiveCase const& one) {
  return one.record().kind == CollectiveKind::kAllToAll || one.record().kind == kSendReceive;
}
bool has_multicast(CollectiveCase const& one) {
  return is_inside(one) && one.record().kind == CollectiveKind::kAllReduce &&
         one.cluster().node().link.multicast_efficiency.value > 0;
}
bool is_rack(CollectiveCase const& one) {
  return one.layout().most_ranks_per_node() > 8;
}

std::string only_if(bool applies, std::string const& owner) {
  return applies ? owner : std::string{};
}

// Owners.
std::string ring_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && !is_exchange(one) && one.record().ranks > 2, one.cluster().node().link.name);
}
std::string pair_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && !is_exchange(one) && one.record().ranks == 2, one.cluster().node().link.name);
}
std::string peer_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && is_exchange(one), one.cluster().node().link.name);
}
std::string multicast_link(CollectiveCase const& one) {
  return only_if(has_multicast(one) && !is_rack(one), one.cluster().node().link.name);
}
std::string rack_link(CollectiveCase const& one) {
  return only_if(has_multicast(one) && is_rack(one), one.cluster().node().link.name);
}
std::string any_multicast_link(CollectiveCase const& one) {
  return only_if(has_multicast(one), one.cluster().node().link.name);
}
std::string limited_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && !is_between(one) && one.cluster().node().link.ll_limit.has_value(),
                 one.cluster().node().link.name);
}
std::string transport(CollectiveCase const& one) {
  return only_if(is_between(one), one.cluster().fabric.transport.name);
}
std::string rdma_transport(CollectiveCase const& one) {
  return only_if(one.cluster().fabric.transport.is_rdma, transport(one));
}
std::string socket_transport(CollectiveCase const& one) {
  return only_if(!one.cluster().fabric.transport.is_rdma, transport(one));
}
std::string lone_transport(CollectiveCase const& one) {
  return only_if(is_between(one) && !is_inside(one), one.cluster().fabric.transport.name);
}
std::string any_library(CollectiveCase const& one) {
  return one.cluster().library.name;
}
std::string tuned_library(CollectiveCase const& one) {
  return only_if(!is_exchange(one), one.cluster().library.name);
}
std::string multicast_library(CollectiveCase const& one) {
  return only_if(has_multicast(one), one.cluster().library.name);
}
std::string multicast_tree_library(CollectiveCase const& one) {
  return only_if(has_multicast(one) && is_between(one), one.cluster().library.name);
}
std::string channel_limited_library(CollectiveCase const& one) {
  return only_if(!is_exchange(one) && is_between(one) && one.cluster().library.ll_limit_per_channel.has_value(),
                 one.cluster().library.name);
}
std::string one_process(CollectiveCase const& one) {
  return only_if(one.record().launcher == Launcher::kOneProcess && one.record().kind != CollectiveKind::kAllToAll,
                 one.cluster().library.name);
}
std::string python(CollectiveCase const& one) {
  return only_if(one.record().launcher == Launcher::kPython, one.cluster().library.name);
}
std::string exchange_of_processes(CollectiveCase const& one) {
  return only_if(one.record().kind == CollectiveKind::kAllToAll && one.record().launcher == Launcher::kProcessPerGpu,
                 one.cluster().library.name);
}
std::string exchange_of_one_process(CollectiveCase const& one) {
  return only_if(one.record().kind == CollectiveKind::kAllToAll && one.record().launcher == Launcher::kOneProcess,
                 one.cluster().library.name);
}

// Pools.
std::string links(CollectiveCase const& one) {
  return one.cluster().node().link.is_nvlink ? "nvlink" : one.cluster().node().link.name;
}
std::string transports(CollectiveCase const& one) {
  return one.cluster().fabric.transport.is_rdma ? "rdma" : "sockets";
}
std::string libraries(CollectiveCase const&) {
  return "library";
}

using Owner = std::string (*)(CollectiveCase const&);

constexpr Constant of_link(std::string_view path, double neutral, double doubt, double spread, Owner owner) {
  return {path, neutral, doubt, spread, owner, links};
}
constexpr Constant of_transport(std::string_view path, double neutral, double doubt, double spread, Owner owner) {
  return {path, neutral, doubt, spread, owner, transports};
}
constexpr Constant of_library(std::string_view path, double neutral, double doubt, double spread, Owner owner) {
  return {path, neutral, doubt, spread, owner, libraries};
}

/// LL's limit is fitted in the tuner's.
constexpr Constant ll_limit() {
  auto result = of_link("node.link.ll_limit", 0.6, 0.5, 1.0, limited_link);
  result.set_otherwise = [](Cluster& to, double value) {
    if (auto& limit = to.node().link.ll_limit) limit->value = tuner_ll_limit(to) * value;
  };
  return result;
}

constexpr Constant step_latency(double neutral, double doubt, double spread, Owner owner) {
  auto result = of_transport("fabric.transport.step_latency", neutral, doubt, spread, owner);
  result.has_outliers = true;
  return result;
}

// What holds for other systems too.
constexpr auto kConstants = std::to_array<Constant>({
    of_link("node.link.ring_efficiency", 0.78, 0.1, 0.06, ring_link),
    of_link("node.link.pair_efficiency", 0.78, 0.2, 0.2, pair_link),
    of_link("node.link.peer_efficiency", 0.7, 0.1, 0.06, peer_link),
    of_link("node.link.multicast_efficiency", 0.68, 0.1, 0.1, multicast_link),
    of_link("node.link.rack_multicast_efficiency", 0.6, 0.1, 0.1, rack_link),
    of_link("node.link.multicast_latency", 30, 0.5, 0.5, any_multicast_link),
    ll_limit(),
    of_transport(kNicEfficiency, 0.9, 0.03, 0.06, transport),
    of_transport("fabric.transport.lone_gpu_efficiency", 0.85, 0.15, 0.1, lone_transport),
    step_latency(6, 0.7, 0.7, rdma_transport),
    step_latency(50, 0.5, 0.8, socket_transport),
    of_library("library.protocols.ll.latency_factor", 1.1, 0.2, 0.1, tuned_library),
    of_library("library.protocols.ll128.latency_factor", 1.3, 0.3, 0.1, tuned_library),
    of_library("library.protocols.simple.latency_factor", 1.3, 0.3, 0.1, tuned_library),
    of_library("library.protocols.ll.copy_efficiency", 0.7, 0.2, 0.1, tuned_library),
    of_library("library.protocols.ll128.copy_efficiency", 0.7, 0.2, 0.1, tuned_library),
    of_library("library.multicast_tree_efficiency", 0.9, 0.1, 0.05, multicast_tree_library),
    of_library("library.multicast_chunk_overhead", 8, 0.3, 0.1, multicast_library),
    of_library("library.ll_limit_per_channel", 1, 1.0, 0.3, channel_limited_library),
    of_library("library.launchers.one-process.per_gpu", 4.5, 0.5, 0.2, one_process),
    of_library("library.launchers.python.fixed", 40, 0.7, 0.3, python),
    of_library("library.launchers.process-per-gpu.per_peer", 5, 0.7, 0.3, exchange_of_processes),
    of_library("library.launchers.one-process.per_peer", 10, 0.7, 0.3, exchange_of_one_process),
});

/// What every call takes longer on one system, by its images, drivers and settings: no mean of it is worth fitting. The
/// fit begins where a change is felt.
constexpr Constant floor_of_calls() {
  auto result = of_library("library.kernel_start", 0.5, 1, 1, any_library);
  result.start = 3;
  return result;
}
constexpr auto kFloor = floor_of_calls();

}  // namespace

void Constant::set(Cluster& cluster, double value) const {
  if (set_otherwise != nullptr) return set_otherwise(cluster, value);
  hw_profiles::set_numbers(cluster, path, value);
}

double Constant::get(Cluster const& cluster) const {
  auto const number = hw_profiles::number_at(cluster, path);
  return number ? number->value : 0;
}

bool is_efficiency(Constant const& constant) {
  return constant.path.find("efficiency") != std::string_view::npos;
}

std::span<Constant const> collective_constants() {
  return kConstants;
}

std::vector<Constant const*> system_constants() {
  auto result = std::vector<Constant const*>{&kFloor};
  for (auto const& each : kConstants) result.push_back(&each);
  return result;
}

}  // namespace twinstep::validate
