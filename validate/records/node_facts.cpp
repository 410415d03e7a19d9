#include "validate/records/node_facts.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace twinstep::records {
namespace {

using hardware::IntraNode;

bool is_linked_with_all_others(NodeFacts const& facts) {
  return std::ranges::all_of(facts.gpus,
                             [&](GpuFacts const& gpu) { return gpu.peer_links.size() + 1 == facts.gpus.size(); });
}

bool has_equal_links(NodeFacts const& facts) {
  auto counts = std::set<std::int64_t>{};
  for (auto const& gpu : facts.gpus)
    for (auto const& [peer, links] : gpu.peer_links) counts.insert(links);
  return counts.size() == 1;
}

/// NVIDIA's hybrid cube mesh joins 8 GPUs, each with four others.
bool is_cube_mesh(NodeFacts const& facts) {
  constexpr std::size_t kGpus = 8;
  constexpr std::size_t kNeighbours = 4;
  return facts.gpus.size() == kGpus &&
         std::ranges::all_of(facts.gpus, [](GpuFacts const& gpu) { return gpu.peer_links.size() == kNeighbours; });
}

IntraNode shape_of_peer_links(NodeFacts& facts) {
  if (is_linked_with_all_others(facts)) {
    if (facts.gpus.size() > 2 && !has_equal_links(facts))
      facts.warn("GPUs are joined by unequal numbers of links; a mesh of equal ones is taken");
    return facts.gpus.size() == 2 ? IntraNode::kPairs : IntraNode::kMesh;
  }
  if (is_cube_mesh(facts)) return IntraNode::kCubeMesh;
  auto const most = std::ranges::max(facts.gpus, {}, [](GpuFacts const& gpu) { return gpu.peer_links.size(); });
  auto const lonely = std::ranges::count_if(facts.gpus, [](GpuFacts const& gpu) { return gpu.peer_links.empty(); });
  if (most.peer_links.size() == 1) {
    if (lonely > 0)
      facts.warn(
          fmt::format("{} of {} GPUs have no link to another; pairs are taken for all", lonely, facts.gpus.size()));
    return IntraNode::kPairs;
  }
  facts.warn(
      "the GPUs' links form neither a mesh, a cube mesh nor pairs; pairs are taken, set \"intra\" if another is "
      "nearer");
  return IntraNode::kPairs;
}

}  // namespace

BytesPerSecond PcieLink::bandwidth() const {
  constexpr double kBitsPerByte = 8;
  auto const coding = transfers <= 5 ? 8.0 / 10 : 128.0 / 130;
  return BytesPerSecond{transfers * 1e9 * static_cast<double>(lanes) * coding / kBitsPerByte};
}

std::int64_t GpuFacts::links() const {
  auto sum = switch_links;
  for (auto const& [peer, links] : peer_links) sum += links;
  return sum;
}

std::string list_text(std::vector<std::string> const& names) {
  constexpr std::size_t kShown = 4;
  if (names.size() <= kShown + 1) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kShown, ", "), names.size() - kShown);
}

std::optional<IntraNode> find_intra(NodeFacts& facts) {
  if (facts.gpus.size() == 1) return IntraNode::kNone;
  if (!facts.has_gpu_links) return std::nullopt;
  auto const with_switch = std::ranges::count_if(facts.gpus, [](GpuFacts const& gpu) { return gpu.switch_links > 0; });
  auto const with_peers =
      std::ranges::count_if(facts.gpus, [](GpuFacts const& gpu) { return !gpu.peer_links.empty(); });
  if (with_switch > 0) {
    auto const without = static_cast<std::ptrdiff_t>(facts.gpus.size()) - with_switch;
    if (without > 0) facts.warn(fmt::format("{} of {} GPUs have no link to a switch", without, facts.gpus.size()));
    return IntraNode::kNvSwitch;
  }
  if (with_peers > 0) return shape_of_peer_links(facts);
  if (facts.peers_by_pcie.value_or(false)) return IntraNode::kPcieP2p;
  facts.warn(
      "the GPUs reach each other over the CPU's root: copies staged through host memory are taken, as NCCL does by "
      "default; set \"intra\" to \"pcie-p2p\" where peer access works");
  return IntraNode::kPcieStaged;
}

bool may_hide_links(NodeFacts const& facts) {
  constexpr std::size_t kFew = 4;
  auto const is_alone = [](GpuFacts const& gpu) { return gpu.links() == 0; };
  if (!facts.has_gpu_links || facts.gpus.size() < kFew || !std::ranges::all_of(facts.gpus, is_alone)) return false;
  auto served = std::set<std::size_t>{};
  for (auto const& nic : facts.nics)
    if (nic.distance <= Distance::kPxb) served.insert(nic.nearest.begin(), nic.nearest.end());
  return served.size() == facts.gpus.size() && facts.nics.size() >= facts.gpus.size();
}

std::optional<std::int64_t> find_gpus_per_pcie_switch(NodeFacts const& facts) {
  auto sharing = std::map<std::string, std::int64_t>{};
  for (auto const& gpu : facts.gpus)
    if (!gpu.pcie_switch.empty()) ++sharing[gpu.pcie_switch];
  if (sharing.empty()) return facts.names_pcie_switches ? std::optional<std::int64_t>{1} : std::nullopt;
  auto most = std::int64_t{0};
  for (auto const& [name, gpus] : sharing) most = std::max(most, gpus);
  return most;
}

std::vector<NicFacts> find_fabric_nics(NodeFacts& facts) {
  auto const is_near = [](NicFacts const& nic) { return nic.distance <= Distance::kPxb; };
  auto const near = std::ranges::count_if(facts.nics, is_near);
  if (near == 0 || near == static_cast<std::ptrdiff_t>(facts.nics.size())) return facts.nics;
  auto fabric_nics = std::vector<NicFacts>{};
  auto far = std::vector<std::string>{};
  for (auto const& nic : facts.nics) {
    if (is_near(nic))
      fabric_nics.push_back(nic);
    else
      far.push_back(nic.name);
  }
  facts.warn(
      fmt::format("{} share{} no PCIe switch with a GPU, as the other {} NICs do: taken for storage or management "
                  "and left out",
                  list_text(far), far.size() == 1 ? "s" : "", near));
  return fabric_nics;
}

}  // namespace twinstep::records
