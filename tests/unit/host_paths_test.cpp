#include "sim/engine/virtual_executor.hpp"
#include "sim/program/builder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/clusters.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::program;
using engine::Fidelity;

namespace {

/// Two GPUs under one PCIe switch, whose slots and uplink carry 10 GB/s each way, before memory of 100 GB/s.
hardware::Cluster two_gpus(std::int64_t gpus_per_switch) {
  auto cluster = tests::ideal_cluster(1, 2, hardware::IntraNode::kNvSwitch);
  cluster.node().pcie.value = 10_GBps;
  cluster.node().gpus_per_pcie_switch = gpus_per_switch;
  cluster.node().host.memory_bandwidth.value = 100_GBps;
  return cluster;
}

/// How long the step takes in which each of `ranks` ranks does what `add` adds to its role; folded and exact agree.
template <class Add>
Duration step_time(std::int64_t ranks, hardware::Cluster const& cluster, Add const& add) {
  auto builder = ProgramBuilder{Grid{{{"data", ranks}}}};
  add(builder, builder.role("rank"));
  auto const program = std::move(builder).finish();
  auto const machine = engine::Machine{cluster};
  auto const folded = engine::run(program, machine).step_time;
  CHECK(engine::run(program, machine, {.fidelity = Fidelity::kExact}).step_time == folded);
  return folded;
}

Duration copy_time(CopyDirection direction, std::int64_t ranks, hardware::Cluster const& cluster) {
  return step_time(ranks, cluster, [&](ProgramBuilder& builder, RoleBuilder& role) {
    role.add(role.stream("copy"), builder.name("copy"), Copy{direction, 100'000'000}, {});
  });
}

Duration host_kernel_time(std::int64_t ranks, hardware::Cluster const& cluster) {
  return step_time(ranks, cluster, [](ProgramBuilder& builder, RoleBuilder& role) {
    role.add(role.stream("cpu", true), builder.name("update"),
             Elementwise{.elements = 100'000'000, .bytes_per_element = 1}, {});
  });
}

}  // namespace

TEST_CASE("GPUs that share an uplink to their host share its rate, those with one each do not", "[engine][host]") {
  CHECK(copy_time(CopyDirection::kDeviceToHost, 2, two_gpus(1)) == 10_ms);
  CHECK(copy_time(CopyDirection::kDeviceToHost, 2, two_gpus(2)) == 20_ms);
  CHECK(copy_time(CopyDirection::kHostToDevice, 2, two_gpus(2)) == 20_ms);
  CHECK(copy_time(CopyDirection::kHostToDevice, 1, two_gpus(2)) == 10_ms);
}

TEST_CASE("GPUs that copy share the memory of their host", "[engine][host]") {
  auto cluster = two_gpus(1);
  cluster.node().host.memory_bandwidth.value = 5_GBps;  // 200 MB
  CHECK(copy_time(CopyDirection::kDeviceToHost, 2, cluster) == 40_ms);
}

TEST_CASE("kernels on the CPU share what they reach of their host's memory", "[engine][host]") {
  auto cluster = two_gpus(1);
  cluster.node().host.memory_efficiency.value = 0.5;  // 100 MB a rank at 50 GB/s
  CHECK(host_kernel_time(1, cluster) == 2_ms);
  CHECK(host_kernel_time(2, cluster) == 4_ms);
  cluster.node().gpus_per_host = 1;  // a Grace each
  CHECK(host_kernel_time(2, cluster) == 2_ms);
}

TEST_CASE("drives read and write at their own rates, for all GPUs of their host together", "[engine][host]") {
  auto cluster = two_gpus(1);
  cluster.node().drives = hardware::Drives{{4_GBps}, {2_GBps}, {}};
  CHECK(copy_time(CopyDirection::kNvmeToHost, 1, cluster) == 25_ms);
  CHECK(copy_time(CopyDirection::kNvmeToHost, 2, cluster) == 50_ms);
  CHECK(copy_time(CopyDirection::kHostToNvme, 2, cluster) == 100_ms);
}

TEST_CASE("ranks that are not alike copy over their own slots", "[engine][host]") {
  // Rank 1 copies half as much; side by side both are as quick as alone.
  CHECK(step_time(2, two_gpus(1), [](ProgramBuilder& builder, RoleBuilder& role) {
          auto const bytes = RankValue{0, builder.variation({builder.along({"data"}), 0, {100'000'000, 50'000'000}})};
          role.add(role.stream("copy"), builder.name("copy"), Copy{CopyDirection::kDeviceToHost, bytes}, {});
        }) == 10_ms);
}

TEST_CASE("two nodes that send to each other do so at once, each over its link out and the other's in",
          "[engine][message]") {
  auto cluster = tests::ideal_cluster(2, 1, hardware::IntraNode::kNone);
  cluster.node().nic.value = 10_GBps;
  CHECK(step_time(2, cluster, [](ProgramBuilder& builder, RoleBuilder& role) {
          auto const all = builder.communicator("all", {"data"});
          auto const other = RankValue{0, builder.variation({builder.along({"data"}), 0, {1, 0}})};
          auto const buffer = [&](std::string_view name) {
            return role.whole(
                role.buffer({.name = builder.name(name), .elements = 100'000'000, .type = DataType::kInt8}));
          };
          auto const message = [&](bool sends) {
            return PointToPoint{sends, DataType::kInt8, all, other, 100'000'000};
          };
          auto const parts = std::array<CommunicationPart, 2>{message(true), message(false)};
          auto const regions = std::array{reads(buffer("mine")), writes(buffer("theirs"))};
          role.group(role.stream("communication"), builder.name("exchange"), parts, regions);
        }) == 10_ms);
}
