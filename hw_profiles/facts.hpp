#pragma once

#include <string>
#include <vector>

#include "sim/io/document.hpp"

/// A cluster from the physical facts that a published measurement states:
///
///     {"gpu": "h100-80g", "gpus_per_node": 8, "nodes": 2, "intra": "nvswitch",
///      "fabric": "infiniband", "nics_per_node": 8, "nic_gbps": 400, "fabric_assumed": true}
///
/// `intra` is nvswitch, nvl72 (trays of a rack that is one NVLink domain), cube-mesh, nvlink-all-to-all, nvlink-pair,
/// xgmi-mesh, pcie, pcie-no-p2p or none. `fabric` is infiniband, roce, roce-no-gdr, efa, tcpx, tcpxo, slingshot,
/// omnipath, tcp or unknown. `nic_gbps` is of one NIC, in gigabits a second.
///
/// Everything else comes from the GPU's profile and from its "reference_node": host, PCIe, and what the facts leave
/// out:
///     GPUs      as many as a host of the reference node has
///     nodes     one
///     intra     that of the reference node, or none for one GPU
///     fabric    InfiniBand
///     NICs      as many a GPU as the reference node has, each as fast
/// GPUs share PCIe switches as there, unless they are fewer; host memory grows with their number.
/// The network is a Clos without oversubscription (fabrics/unstated.json).
namespace twinstep::hw_profiles {

/// Whether an object is such facts, though some may be missing: it has a count or a rate that only facts have, or the
/// name of a GPU and no node.
[[nodiscard]] bool are_facts(io::Node const& object);

/// The members of `object` that are facts, and the others, which change the cluster built from them.
struct FactsAndChanges {
  io::Node facts;
  io::Node changes;
};
[[nodiscard]] FactsAndChanges split_facts(io::Node const& object);

struct FactsCluster {
  io::Node profile;  ///< of a cluster, whose node is the reference node with what the facts say instead
  /// One sentence for each fact that is missing and matters, with what is taken instead.
  std::vector<std::string> missing;
};

/// The profile that facts describe. Trays of a rack are merged into NVLink domains, as few as hold them evenly, and
/// each is one node. Throws InputError for an unknown GPU, intra or fabric, with the nearest known one, and for counts
/// that contradict each other.
[[nodiscard]] FactsCluster read_facts(io::Node const& facts);

}  // namespace twinstep::hw_profiles
