#include "validate/fit/collective_constants.hpp"

#include <array>

namespace twinstep::validate {
namespace {

using hardware::Cluster;
using hardware::Launcher;
using hardware::Protocol;

Duration from_microseconds(double value) {
  return to_duration(Seconds{value * 1e-6});
}
BytesPerSecond from_gigabytes(double value) {
  return BytesPerSecond{value * 1e9};
}

/// What NCCL's tuner believes that LL reaches inside a node: the unit in which a link's limit is fitted.
BytesPerSecond tuner_ll_limit(Cluster const& cluster) {
  auto const architecture = hardware::architecture_of(cluster.node.gpu.compute_capability.value);
  return cluster.library.tuning.ll_limit[static_cast<std::size_t>(architecture)].front();
}

bool is_inside(CollectiveCase const& one) {
  return one.layout().most_ranks_per_node() > 1;
}
bool is_between(CollectiveCase const& one) {
  return one.layout().nodes() > 1;
}
bool is_exchange(CollectiveCase const& one) {
  return one.record().kind == MeasuredKind::kAllToAll || one.record().kind == MeasuredKind::kSendReceive;
}
bool has_multicast(CollectiveCase const& one) {
  return is_inside(one) && one.record().kind == MeasuredKind::kAllReduce &&
         one.cluster().node.link.multicast_efficiency.value > 0;
}
bool is_rack(CollectiveCase const& one) {
  return one.layout().most_ranks_per_node() > 8;
}

std::string only_if(bool applies, std::string const& owner) {
  return applies ? owner : std::string{};
}

// Owners.
std::string ring_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && !is_exchange(one) && one.record().ranks > 2, one.cluster().node.link.name);
}
std::string pair_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && !is_exchange(one) && one.record().ranks == 2, one.cluster().node.link.name);
}
std::string peer_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && is_exchange(one), one.cluster().node.link.name);
}
std::string multicast_link(CollectiveCase const& one) {
  return only_if(has_multicast(one) && !is_rack(one), one.cluster().node.link.name);
}
std::string rack_link(CollectiveCase const& one) {
  return only_if(has_multicast(one) && is_rack(one), one.cluster().node.link.name);
}
std::string any_multicast_link(CollectiveCase const& one) {
  return only_if(has_multicast(one), one.cluster().node.link.name);
}
std::string limited_link(CollectiveCase const& one) {
  return only_if(is_inside(one) && !is_between(one) && one.cluster().node.link.ll_limit.value.count() > 0,
                 one.cluster().node.link.name);
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
  return only_if(!is_exchange(one) && is_between(one) && one.cluster().library.ll_limit_per_channel.value.count() > 0,
                 one.cluster().library.name);
}
std::string one_process(CollectiveCase const& one) {
  return only_if(one.record().launcher == Launcher::kOneProcess && one.record().kind != MeasuredKind::kAllToAll,
                 one.cluster().library.name);
}
std::string python(CollectiveCase const& one) {
  return only_if(one.record().launcher == Launcher::kPython, one.cluster().library.name);
}
std::string exchange_of_processes(CollectiveCase const& one) {
  return only_if(one.record().kind == MeasuredKind::kAllToAll && one.record().launcher == Launcher::kProcessPerGpu,
                 one.cluster().library.name);
}
std::string exchange_of_one_process(CollectiveCase const& one) {
  return only_if(one.record().kind == MeasuredKind::kAllToAll && one.record().launcher == Launcher::kOneProcess,
                 one.cluster().library.name);
}

// Pools.
std::string links(CollectiveCase const& one) {
  return one.cluster().node.link.is_nvlink ? "nvlink" : one.cluster().node.link.name;
}
std::string transports(CollectiveCase const& one) {
  return one.cluster().fabric.transport.is_rdma ? "rdma" : "sockets";
}
std::string libraries(CollectiveCase const&) {
  return "library";
}

constexpr auto kConstants = std::to_array<Constant>({
    {"ring_efficiency", 0.78, 0.1, 0.06, [](Cluster& to, double value) { to.node.link.ring_efficiency.value = value; },
     ring_link, links},
    {"pair_efficiency", 0.78, 0.2, 0.2, [](Cluster& to, double value) { to.node.link.pair_efficiency.value = value; },
     pair_link, links},
    {"peer_efficiency", 0.7, 0.1, 0.06, [](Cluster& to, double value) { to.node.link.peer_efficiency.value = value; },
     peer_link, links},
    {"multicast_efficiency", 0.68, 0.1, 0.1,
     [](Cluster& to, double value) { to.node.link.multicast_efficiency.value = value; }, multicast_link, links},
    {"rack_multicast_efficiency", 0.6, 0.1, 0.1,
     [](Cluster& to, double value) { to.node.link.rack_multicast_efficiency.value = value; }, rack_link, links},
    {"multicast_latency", 30, 0.5, 0.5,
     [](Cluster& to, double value) { to.node.link.multicast_latency.value = from_microseconds(value); },
     any_multicast_link, links},
    {"ll_limit", 0.6, 0.5, 1.0,
     [](Cluster& to, double value) { to.node.link.ll_limit.value = tuner_ll_limit(to) * value; }, limited_link, links},
    {"efficiency", 0.9, 0.03, 0.06, [](Cluster& to, double value) { to.fabric.transport.efficiency.value = value; },
     transport, transports},
    {"lone_gpu_efficiency", 0.85, 0.15, 0.1,
     [](Cluster& to, double value) { to.fabric.transport.lone_gpu_efficiency.value = value; }, lone_transport,
     transports},
    {"step_latency", 6, 0.7, 0.7,
     [](Cluster& to, double value) { to.fabric.transport.step_latency.value = from_microseconds(value); },
     rdma_transport, transports, true},
    {"step_latency", 50, 0.5, 0.8,
     [](Cluster& to, double value) { to.fabric.transport.step_latency.value = from_microseconds(value); },
     socket_transport, transports, true},
    {"ll.latency_factor", 1.1, 0.2, 0.1,
     [](Cluster& to, double value) { to.library.protocols[0].latency_factor.value = value; }, tuned_library, libraries},
    {"ll128.latency_factor", 1.3, 0.3, 0.1,
     [](Cluster& to, double value) { to.library.protocols[1].latency_factor.value = value; }, tuned_library, libraries},
    {"simple.latency_factor", 1.3, 0.3, 0.1,
     [](Cluster& to, double value) { to.library.protocols[2].latency_factor.value = value; }, tuned_library, libraries},
    {"ll.copy_efficiency", 0.7, 0.2, 0.1,
     [](Cluster& to, double value) { to.library.protocols[0].copy_efficiency.value = value; }, tuned_library,
     libraries},
    {"ll128.copy_efficiency", 0.7, 0.2, 0.1,
     [](Cluster& to, double value) { to.library.protocols[1].copy_efficiency.value = value; }, tuned_library,
     libraries},
    {"multicast_tree_efficiency", 0.9, 0.1, 0.05,
     [](Cluster& to, double value) { to.library.multicast_tree_efficiency.value = value; }, multicast_tree_library,
     libraries},
    {"multicast_chunk_overhead", 8, 0.3, 0.1,
     [](Cluster& to, double value) { to.library.multicast_chunk_overhead.value = to_bytes(value * 1024); },
     multicast_library, libraries},
    {"ll_limit_per_channel", 1, 1.0, 0.3,
     [](Cluster& to, double value) { to.library.ll_limit_per_channel.value = from_gigabytes(value); },
     channel_limited_library, libraries},
    {"one-process.per_gpu", 4.5, 0.5, 0.2,
     [](Cluster& to, double value) { to.library.launchers[1].per_gpu.value = from_microseconds(value); }, one_process,
     libraries},
    {"python.fixed", 40, 0.7, 0.3,
     [](Cluster& to, double value) { to.library.launchers[2].fixed.value = from_microseconds(value); }, python,
     libraries},
    {"process-per-gpu.per_peer", 5, 0.7, 0.3,
     [](Cluster& to, double value) { to.library.launchers[0].per_peer.value = from_microseconds(value); },
     exchange_of_processes, libraries},
    {"one-process.per_peer", 10, 0.7, 0.3,
     [](Cluster& to, double value) { to.library.launchers[1].per_peer.value = from_microseconds(value); },
     exchange_of_one_process, libraries},
});

}  // namespace

std::span<Constant const> collective_constants() {
  return kConstants;
}

}  // namespace twinstep::validate
