#include "explore/plan/way_out_of_node.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"
#include "sim/topology/topology.hpp"

namespace twinstep::explore::plan {
namespace {

/// The slowest PCIe link between GPU 0 and its NIC, for each GPU that shares it; nothing where there is none.
std::optional<BytesPerSecond> pcie_rate(topology::Topology const& machine) {
  auto rate = std::optional<BytesPerSecond>{};
  for (auto const link : machine.out_of_node(0)) {
    auto const& resource = machine.resource(link);
    if (resource.kind != "pcie") continue;
    auto const share = resource.bandwidth * (1 / static_cast<double>(resource.gpus));
    if (!rate || share < *rate) rate = share;
  }
  return rate;
}

}  // namespace

std::string what_binds_out_of_node(hardware::Cluster const& cluster) {
  auto const machine = topology::Topology{cluster};
  if (machine.nics() == 0) return {};
  auto const nics_of_gpu = static_cast<double>(cluster.nics()) / static_cast<double>(cluster.node().gpus);
  auto const rates = std::array<std::optional<BytesPerSecond>, kWayOutOfNode.size()>{
      cluster.node().nic.value * nics_of_gpu, cluster.fabric.port.value * nics_of_gpu, pcie_rate(machine)};
  auto parts = std::vector<std::string>{};
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i]) parts.push_back(fmt::format("{} by {}", reports::rate_text(*rates[i]), kWayOutOfNode[i]));
  return fmt::format("out of its node a GPU has {}: the slowest binds", fmt::join(parts, ", "));
}

}  // namespace twinstep::explore::plan
