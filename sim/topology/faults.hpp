#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware/cluster.hpp"

namespace twinstep::topology {

struct Resource;

/// What is wrong with a cluster, and where: `hardware::Cluster::faults` by node.
///
/// A fault names a resource ("nic3.out"), or all whose names begin with it ("nic3", "gpu2.nvlink", "gpu2", "leaf").
/// Without a node it holds in all of them, and is then part of what the resource is; with one, that node differs from
/// the others. The node of a tier's uplinks is the switch group.
class Faults {
 public:
  Faults() = default;
  explicit Faults(hardware::Cluster const& cluster) : faults_{cluster.faults} {}

  /// Throws InputError for a fault that names no resource, with those that exist, or a node that the cluster lacks, or
  /// that leaves nothing of what has no replacement.
  void check(std::vector<Resource> const& resources) const;

  [[nodiscard]] bool any() const { return !faults_.empty(); }
  /// What is left of a resource's rate, in every node; 0 is broken.
  [[nodiscard]] double everywhere(std::string_view resource) const;
  /// What is left at one node, or switch group, of that.
  [[nodiscard]] double at(std::string_view resource, std::int64_t node) const;

  /// The nodes that differ from the others, rising; those with a fault in one of `resources` inside nodes.
  [[nodiscard]] std::vector<std::int64_t> nodes(std::vector<Resource> const& resources) const;

 private:
  void require_rest(std::string const& resource, hardware::Fault const& fault) const;

  std::vector<hardware::Fault> faults_;
};

}  // namespace twinstep::topology
