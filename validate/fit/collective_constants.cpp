#include "validate/fit/collective_constants.hpp"

#include <array>
#include <type_traits>
#include <utility>

namespace twinstep::validate {
namespace {

using hardware::Cluster;
using hardware::Launcher;
using hardware::LauncherCost;
using hardware::Library;
using hardware::Link;
using hardware::ProtocolCost;
using hardware::Transport;

/// What a number of a profile is fitted in.
template <class Number>
struct Unit;
template <>
struct Unit<double> {
  static constexpr std::string_view kName = "";
  static double from(double value) { return value; }
  static double to(double value) { return value; }
};
template <>
struct Unit<Duration> {
  static constexpr std::string_view kName = "us";
  static Duration from(double value) { return to_duration(Seconds{value * 1e-6}); }
  static double to(Duration value) { return to_seconds(value).count() * 1e6; }
};
template <>
struct Unit<BytesPerSecond> {
  static constexpr std::string_view kName = "GB/s";
  static BytesPerSecond from(double value) { return BytesPerSecond{value * 1e9}; }
  static double to(BytesPerSecond value) { return value.count() / 1e9; }
};
template <>
struct Unit<Bytes> {
  static constexpr std::string_view kName = "KiB";
  static Bytes from(double value) { return to_bytes(value * 1024); }
  static double to(Bytes value) { return static_cast<double>(value.count()) / 1024; }
};

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
  return one.record().kind == MeasuredKind::kAllToAll || one.record().kind == MeasuredKind::kSendReceive;
}
bool has_multicast(CollectiveCase const& one) {
  return is_inside(one) && one.record().kind == MeasuredKind::kAllReduce &&
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
  return one.cluster().node().link.is_nvlink ? "nvlink" : one.cluster().node().link.name;
}
std::string transports(CollectiveCase const& one) {
  return one.cluster().fabric.transport.is_rdma ? "rdma" : "sockets";
}
std::string libraries(CollectiveCase const&) {
  return "library";
}

template <class T>
T* address(T& number) {
  return &number;
}
template <class T>
T* address(std::optional<T>& number) {
  return number ? &*number : nullptr;
}
template <class T>
T const* address(std::optional<T> const& number) {
  return number ? &*number : nullptr;
}

/// The number at the end of a path from a cluster: members by their pointers, elements by their index. Null where the
/// cluster has no such number.
template <auto First, auto... Rest>
auto* number_at(auto& from) {
  auto& next = [&]() -> auto& {
    if constexpr (std::is_integral_v<decltype(First)>)
      return from[First];
    else
      return from.*First;
  }
  ();
  if constexpr (sizeof...(Rest) == 0)
    return address(next);
  else
    return number_at<Rest...>(next);
}

using Owner = std::string (*)(CollectiveCase const&);

/// A constant whose fitted value is the profile's own, and the way to it.
template <auto... Way>
constexpr Constant constant(std::string_view path, double neutral, double doubt, double spread, Owner owner,
                            Owner pool) {
  using Number = decltype(number_at<Way...>(std::declval<Cluster&>())->value);
  return {.path = path,
          .unit = Unit<Number>::kName,
          .neutral = neutral,
          .doubt = doubt,
          .spread = spread,
          .set =
              [](Cluster& to, double value) {
                if (auto* const number = number_at<Way...>(to)) number->value = Unit<Number>::from(value);
              },
          .get =
              [](Cluster const& from) {
                auto const* const number = number_at<Way...>(from);
                return number != nullptr ? Unit<Number>::to(number->value) : 0;
              },
          .owner = owner,
          .pool = pool};
}

template <auto... Way>
constexpr Constant of_link(std::string_view path, double neutral, double doubt, double spread, Owner owner) {
  return constant<&Cluster::groups, 0, &hardware::NodeGroup::node, &hardware::Node::link, Way...>(path, neutral, doubt,
                                                                                                  spread, owner, links);
}
template <auto... Way>
constexpr Constant of_transport(std::string_view path, double neutral, double doubt, double spread, Owner owner) {
  return constant<&Cluster::fabric, &hardware::Fabric::transport, Way...>(path, neutral, doubt, spread, owner,
                                                                          transports);
}
template <auto... Way>
constexpr Constant of_library(std::string_view path, double neutral, double doubt, double spread, Owner owner) {
  return constant<&Cluster::library, Way...>(path, neutral, doubt, spread, owner, libraries);
}

/// LL's limit is fitted in the tuner's.
constexpr Constant ll_limit() {
  auto result = of_link<&Link::ll_limit>("node.link.ll_limit", 0.6, 0.5, 1.0, limited_link);
  result.set = [](Cluster& to, double value) {
    if (auto& limit = to.node().link.ll_limit) limit->value = tuner_ll_limit(to) * value;
  };
  return result;
}

constexpr Constant step_latency(double neutral, double doubt, double spread, Owner owner) {
  auto result = of_transport<&Transport::step_latency>("fabric.transport.step_latency", neutral, doubt, spread, owner);
  result.has_outliers = true;
  return result;
}

// What holds for other systems too.
constexpr auto kConstants = std::to_array<Constant>({
    of_link<&Link::ring_efficiency>("node.link.ring_efficiency", 0.78, 0.1, 0.06, ring_link),
    of_link<&Link::pair_efficiency>("node.link.pair_efficiency", 0.78, 0.2, 0.2, pair_link),
    of_link<&Link::peer_efficiency>("node.link.peer_efficiency", 0.7, 0.1, 0.06, peer_link),
    of_link<&Link::multicast_efficiency>("node.link.multicast_efficiency", 0.68, 0.1, 0.1, multicast_link),
    of_link<&Link::rack_multicast_efficiency>("node.link.rack_multicast_efficiency", 0.6, 0.1, 0.1, rack_link),
    of_link<&Link::multicast_latency>("node.link.multicast_latency", 30, 0.5, 0.5, any_multicast_link),
    ll_limit(),
    of_transport<&Transport::efficiency>(kNicEfficiency, 0.9, 0.03, 0.06, transport),
    of_transport<&Transport::lone_gpu_efficiency>("fabric.transport.lone_gpu_efficiency", 0.85, 0.15, 0.1,
                                                  lone_transport),
    step_latency(6, 0.7, 0.7, rdma_transport),
    step_latency(50, 0.5, 0.8, socket_transport),
    of_library<&Library::protocols, 0, &ProtocolCost::latency_factor>("library.protocols.ll.latency_factor", 1.1, 0.2,
                                                                      0.1, tuned_library),
    of_library<&Library::protocols, 1, &ProtocolCost::latency_factor>("library.protocols.ll128.latency_factor", 1.3,
                                                                      0.3, 0.1, tuned_library),
    of_library<&Library::protocols, 2, &ProtocolCost::latency_factor>("library.protocols.simple.latency_factor", 1.3,
                                                                      0.3, 0.1, tuned_library),
    of_library<&Library::protocols, 0, &ProtocolCost::copy_efficiency>("library.protocols.ll.copy_efficiency", 0.7, 0.2,
                                                                       0.1, tuned_library),
    of_library<&Library::protocols, 1, &ProtocolCost::copy_efficiency>("library.protocols.ll128.copy_efficiency", 0.7,
                                                                       0.2, 0.1, tuned_library),
    of_library<&Library::multicast_tree_efficiency>("library.multicast_tree_efficiency", 0.9, 0.1, 0.05,
                                                    multicast_tree_library),
    of_library<&Library::multicast_chunk_overhead>("library.multicast_chunk_overhead", 8, 0.3, 0.1, multicast_library),
    of_library<&Library::ll_limit_per_channel>("library.ll_limit_per_channel", 1, 1.0, 0.3, channel_limited_library),
    of_library<&Library::launchers, 1, &LauncherCost::per_gpu>("library.launchers.one-process.per_gpu", 4.5, 0.5, 0.2,
                                                               one_process),
    of_library<&Library::launchers, 2, &LauncherCost::fixed>("library.launchers.python.fixed", 40, 0.7, 0.3, python),
    of_library<&Library::launchers, 0, &LauncherCost::per_peer>("library.launchers.process-per-gpu.per_peer", 5, 0.7,
                                                                0.3, exchange_of_processes),
    of_library<&Library::launchers, 1, &LauncherCost::per_peer>("library.launchers.one-process.per_peer", 10, 0.7, 0.3,
                                                                exchange_of_one_process),
});

/// What every call takes longer on one system, by its images, drivers and settings: no mean of it is worth fitting. The
/// fit begins where a change is felt.
constexpr Constant floor_of_calls() {
  auto result = of_library<&Library::kernel_start>("library.kernel_start", 0.5, 1, 1, any_library);
  result.start = 3;
  return result;
}
constexpr auto kFloor = floor_of_calls();

}  // namespace

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
