#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/cluster.hpp"

/// What a dump of a machine's topology says about one node, whoever wrote the dump.
namespace twinstep::records {

/// A PCIe link as the kernel reports it.
struct PcieLink {
  double transfers = 0;    ///< GT/s of one lane
  std::int64_t lanes = 0;  ///< above zero
  bool operator==(PcieLink const&) const = default;

  /// One way, by the standard: 8b/10b coding up to 5 GT/s, 128b/130b from 8 on.
  [[nodiscard]] BytesPerSecond bandwidth() const;
};

/// How far a NIC is from a GPU, in nvidia-smi's and NCCL's words, nearest first.
enum class Distance : std::uint8_t {
  kPix,   ///< one PCIe switch
  kPxb,   ///< several PCIe switches
  kPhb,   ///< the CPU's root
  kNode,  ///< several roots of one NUMA node
  kSys    ///< another socket
};

enum class GpuVendor : std::uint8_t { kUnknown, kNvidia, kAmd, kOther };

struct GpuFacts {
  std::string name;  ///< bus id, or "GPU0"
  GpuVendor vendor = GpuVendor::kUnknown;
  std::string vendor_id;                           ///< "0x1d94" of one that is not known
  std::string gcn;                                 ///< AMD's architecture, "942"; empty where the dump does not say
  std::optional<std::int64_t> compute_capability;  ///< times ten; NVIDIA's
  std::string pci_device;                          ///< "0x2330"; empty where the dump does not say
  std::int64_t switch_links = 0;                   ///< NVLinks that lead to switches
  std::map<std::size_t, std::int64_t> peer_links;  ///< NVLinks that lead to other GPUs of the dump, by their index
  std::optional<PcieLink> pcie;                    ///< the narrowest on the way to the CPU
  std::string pcie_switch;                         ///< the topmost above it; empty without, or if not known
  std::optional<BytesPerSecond> chip_link;         ///< NVLink-C2C to its CPU, one way

  [[nodiscard]] std::int64_t links() const;
};

struct NicFacts {
  std::string name;
  std::optional<BytesPerSecond> speed;
  std::vector<std::size_t> nearest;  ///< GPUs
  Distance distance = Distance::kSys;
};

struct CpuFacts {
  std::string name;
  std::string vendor;  ///< "GenuineIntel"; empty where the dump does not say
  std::string host;    ///< what tells the hosts of one NVLink domain apart; empty for a single host
};

struct NodeFacts {
  std::string file;         ///< the dump
  std::string description;  ///< "NCCL topology file"
  std::vector<GpuFacts> gpus;
  std::vector<NicFacts> nics;
  std::vector<CpuFacts> cpus;
  bool has_gpu_links = true;          ///< false: the dump has no place for NVLinks, so that their absence means nothing
  bool names_pcie_switches = true;    ///< false: GPUs without `pcie_switch` may share one
  std::optional<bool> peers_by_pcie;  ///< every GPU reaches every other below switches
  std::vector<std::string> warnings;  ///< one line each: what looks wrong, and what was done about it
  std::vector<std::string> unknowns;  ///< one line each: what such a dump cannot know

  void warn(std::string sentence) { warnings.push_back(std::move(sentence)); }
};

/// The shape of the node, from its links. Adds a warning where they have none that a node profile knows.
/// Nothing where the dump does not say.
[[nodiscard]] std::optional<hardware::IntraNode> find_intra(NodeFacts& facts);

/// Whether several GPUs without a link among them each have NICs of their own at a PCIe switch: machines that are built
/// so join their GPUs, and a container or virtual machine hides by what.
[[nodiscard]] bool may_hide_links(NodeFacts const& facts);

/// How many GPUs share a PCIe switch, the most of any; nothing where the dump does not say.
[[nodiscard]] std::optional<std::int64_t> find_gpus_per_pcie_switch(NodeFacts const& facts);

/// The NICs that carry collectives: where some are as near as a switch to a GPU, those that are not are left out, with
/// a warning.
[[nodiscard]] std::vector<NicFacts> find_fabric_nics(NodeFacts& facts);

/// "A, B, C and 5 more"
[[nodiscard]] std::string list_text(std::vector<std::string> const& names);

}  // namespace twinstep::records

namespace twinstep {
template <>
struct EnumNames<records::Distance> {
  static constexpr std::array<std::string_view, 5> values{"PIX", "PXB", "PHB", "NODE", "SYS"};
};
}  // namespace twinstep
