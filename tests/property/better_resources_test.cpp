#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/collectives/dispatch.hpp"
#include "sim/collectives/folded.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "sim/program/builder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"
#include "tests/support/collective_kinds.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::collectives;
using hardware::Cluster;
using hardware::IntraNode;

namespace {

/// A number of a machine, and how it gets better.
struct Improvement {
  char const* name;
  void (*apply)(Cluster& cluster, double factor);
};

constexpr auto kImprovements = std::array{
    Improvement{"a faster GPU link",
                [](Cluster& c, double f) { c.node().gpu_link.value = c.node().gpu_link.value * f; }},
    Improvement{"a faster PCIe", [](Cluster& c, double f) { c.node().pcie.value = c.node().pcie.value * f; }},
    Improvement{"a faster NIC", [](Cluster& c, double f) { c.node().nic.value = c.node().nic.value * f; }},
    Improvement{"a faster port", [](Cluster& c, double f) { c.fabric.port.value = c.fabric.port.value * f; }},
    Improvement{"a faster memory of the host",
                [](Cluster& c, double f) {
                  auto& rate = c.node().host.memory_bandwidth.value;
                  rate = rate * f;
                }},
    Improvement{"a faster device memory",
                [](Cluster& c, double f) {
                  auto& rate = c.node().gpu.memory_bandwidth.value;
                  rate = rate * f;
                }},
    Improvement{"less oversubscription",
                [](Cluster& c, double f) {
                  auto& level = c.fabric.levels.front().oversubscription.value;
                  level = std::max(1.0, level / f);
                }},
    Improvement{"nearer switches",
                [](Cluster& c, double f) {
                  for (auto& level : c.fabric.levels)
                    level.hop_latency.value = to_duration(to_seconds(level.hop_latency.value) * (1 / f));
                }},
    Improvement{"a quicker transport", [](Cluster& c, double f) {
                  auto& step = c.fabric.transport.step_latency.value;
                  step = to_duration(to_seconds(step) * (1 / f));
                }}};

/// Machines whose links, NICs, PCIe and memories have any rates, in any relation.
class Machines {
 public:
  Cluster next() {
    auto const gpus = one_of<std::int64_t>({1, 2, 3, 4, 6, 8});
    auto cluster = tests::h100_like(whole(1, 5));
    cluster.library.environment["NCCL_COLLNET_ENABLE"] = "1";
    cluster.node().link.multicast_efficiency.value = 0.8;
    auto& node = cluster.node();
    node.gpus = gpus;
    node.intra =
        gpus == 1 ? IntraNode::kNone
                  : one_of<IntraNode>({IntraNode::kNvSwitch, IntraNode::kMesh, IntraNode::kPcieP2p,
                                       IntraNode::kPcieStaged, gpus % 2 == 0 ? IntraNode::kPairs : IntraNode::kMesh});
    node.gpus_per_pcie_switch = gpus % 2 == 0 ? whole(1, 2) : 1;
    node.nics = whole(1, gpus);
    node.gpu_link.value = rate(10, 900);
    node.pcie.value = rate(6, 100);
    node.nic.value = rate(5, 100);
    cluster.fabric.port.value = rate(5, 100);
    node.host.memory_bandwidth.value = rate(50, 800);
    node.gpu.memory_bandwidth.value = rate(800, 8000);
    cluster.fabric.is_rail_optimised = whole(0, 1) == 1;
    cluster.fabric.transport.has_gpu_direct = whole(0, 2) > 0;
    cluster.fabric.levels = {{"leaf", 2, {static_cast<double>(whole(1, 4))}, {1_us}}, {"spine", 512, {1.0}, {2_us}}};
    return cluster;
  }
  std::int64_t whole(std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution{first, last}(random_);
  }
  double factor() { return std::exp(std::uniform_real_distribution{0.01, 1.0}(random_)); }

 private:
  template <class T>
  T one_of(std::vector<T> const& choices) {
    return choices[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }
  BytesPerSecond rate(double least, double most) {
    auto const decades = std::uniform_real_distribution{std::log(least), std::log(most)};
    return BytesPerSecond{1e9 * std::exp(std::uniform_real_distribution{decades.a(), decades.b()}(random_))};
  }

  std::mt19937_64 random_{42};
};

/// Nothing where the machine has not what the algorithm needs.
std::optional<Duration> alone(Cluster const& cluster, topology::Topology const& topology, CollectiveKind kind,
                              Algorithm algorithm) {
  auto const layout = Layout{cluster.gpus(), {{cluster.nodes(), cluster.node().gpus}}, 0, 1, 0, 1, 1};
  auto const placement = Placement{layout, cluster, topology};
  auto request = FoldRequest{kind, 64_MiB, placement, cluster, topology};
  request.algorithm = algorithm;
  try {
    return time_alone(fold_as(request), topology);
  } catch (InputError const&) {
    return std::nullopt;
  }
}

Duration copy_time(Cluster const& cluster, program::CopyDirection direction) {
  auto builder = program::ProgramBuilder{program::Grid{{{"data", cluster.gpus()}}}};
  auto role = builder.role("rank");
  role.add(role.stream("copy"), builder.name("copy"), program::Copy{direction, 100'000'000}, {});
  auto const step = std::move(builder).finish();
  return engine::run(step, engine::Machine{cluster}).step_time;
}

/// A layer's parameters are gathered while the layer before it computes and what that one keeps goes to the host, six
/// times: kernels of any length between collectives and copies of any size.
program::StepProgram offloading_step(Cluster const& cluster, Machines& machines) {
  using namespace program;
  auto builder = ProgramBuilder{Grid{{{"data", cluster.gpus()}}}};
  auto const all = builder.communicator("all", builder.grids().find({{"data"}}).value());
  auto& role = builder.role("rank");
  auto const [compute, network, copies] =
      std::tuple{role.stream("compute"), role.stream("network"), role.stream("copy")};
  auto const bytes = machines.whole(10, 200) * cluster.gpus() * 1'000'000;
  auto const kept = machines.whole(10, 400) * 1'000'000;
  auto const kernel = Delay{to_duration(Seconds{static_cast<double>(machines.whole(1, 20)) * 1e-3})};
  for (auto layer = 0; layer < 6; ++layer) {
    auto const part = [&](std::int64_t size) {
      return role.whole(role.buffer({.name = builder.name("weights"), .elements = size, .type = DataType::kInt8}));
    };
    auto const gather =
        Collective{.kind = CollectiveKind::kAllGather, .type = DataType::kInt8, .communicator = all, .elements = bytes};
    role.wait(compute, role.add(network, builder.name("gather"), gather, part(bytes / cluster.gpus()), part(bytes)));
    auto const done = role.add(compute, builder.name("kernel"), kernel, {});
    role.wait(copies, done);
    role.add(copies, builder.name("keep"), Copy{CopyDirection::kDeviceToHost, kept}, {});
  }
  return std::move(builder).finish();
}

/// Time in which operations run beside others, summed over these.
Duration overlap(timeline::Timeline const& timeline) {
  auto spans = std::vector<std::pair<Time, Time>>{};
  auto busy = Duration{};
  for (auto const& span : timeline.spans) {
    if (span.track.index() != 0) continue;
    spans.emplace_back(span.start, span.end);
    busy += span.end - span.start;
  }
  std::ranges::sort(spans);
  auto covered = Duration{};
  auto until = Time{};
  for (auto const& [start, end] : spans) {
    if (end > until) covered += end - std::max(start, until);
    until = std::max(until, end);
  }
  return busy - covered;
}

}  // namespace

TEST_CASE("a collective or a copy alone on its machine is never slower on a better one", "[engine][property]") {
  auto machines = Machines{};
  for (auto i = 0; i < 60; ++i) {
    auto const cluster = machines.next();
    auto const topology = topology::Topology{cluster};
    for (auto const& improvement : kImprovements) {
      auto better = cluster;
      improvement.apply(better, machines.factor());
      auto const better_topology = topology::Topology{better};
      for (auto const direction : {program::CopyDirection::kHostToDevice, program::CopyDirection::kDeviceToHost}) {
        INFO("machine " << i << ", copy, " << improvement.name);
        CHECK(copy_time(better, direction) <= copy_time(cluster, direction) + Duration{2});
      }
      for (auto const& entry : all_algorithms())
        for (auto const kind : tests::kCollectiveKinds) {
          if (!entry.does(kind) || cluster.gpus() < 2) continue;
          auto const before = alone(cluster, topology, kind, entry.algorithm);
          INFO("machine " << i << ", " << name_of(kind) << " by " << name_of(entry.algorithm) << ", "
                          << improvement.name);
          if (before) CHECK(*alone(better, better_topology, kind, entry.algorithm) <= *before + Duration{1000});
        }
    }
  }
}

TEST_CASE("a better machine costs a step that overlaps copies and collectives 2 % at most, and no other step anything",
          "[engine][contention][property]") {
  // Max-min shares are not monotone in what is shared: who gets more can hold back what the step waits for.
  auto machines = Machines{};
  for (auto i = 0; i < 200; ++i) {
    auto const cluster = machines.next();
    if (cluster.gpus() < 2) continue;
    auto const step = offloading_step(cluster, machines);
    auto const rounding = Duration{static_cast<std::int64_t>(step.roles.front().operations.size())};
    auto const before = engine::run(step, engine::Machine{cluster});
    for (auto const& improvement : kImprovements) {
      auto better = cluster;
      improvement.apply(better, machines.factor());
      auto const after = engine::run(step, engine::Machine{better});
      auto const loss = after.step_time - before.step_time;
      INFO("machine " << i << ", " << improvement.name << ": "
                      << static_cast<double>(loss.count()) / static_cast<double>(before.step_time.count()));
      CHECK(loss <= Duration{before.step_time.count() / 50});
      CHECK((loss <= rounding || loss <= overlap(after)));
    }
  }
}
