#pragma once

#include <span>
#include <vector>

#include "sim/engine/machine.hpp"
#include "sim/program/projection.hpp"
#include "sim/program/step_program.hpp"

namespace twinstep::engine {

/// What copies between device, host and drives, and kernels on the CPU, use of each cell's node.
///
/// Ranks that are alike copy at the same time. Where several ranks of a cell share an instance of a resource (an uplink
/// to the root, the host's memory, its drives), it carries the bytes of all of them.
class HostPaths {
 public:
  /// Finds nothing for a program that stays on its devices. Cost: cells × GPUs of a node otherwise.
  HostPaths(program::StepProgram const& program, program::Projection const& cells, Machine const& machine);

  struct Hop {
    ResourceId resource;
    double weight = 1;  ///< bytes on it for each byte that a rank of the cell copies
  };
  /// Beside the device's memory. Requires a direction that leaves or enters the device.
  [[nodiscard]] std::span<Hop const> of(program::CopyDirection direction, program::CellId cell) const;
  /// The memory of the cell's host.
  [[nodiscard]] Hop memory(program::CellId cell) const { return paths_[cell.index()].memory; }

  /// All resources that they use.
  [[nodiscard]] std::vector<ResourceId> resources() const;

 private:
  struct Paths {
    std::vector<Hop> to_device;
    std::vector<Hop> to_host;
    std::vector<Hop> to_drives;    // empty without any
    std::vector<Hop> from_drives;  // likewise
    Hop memory;
  };

  std::vector<Paths> paths_;  // by cell
};

}  // namespace twinstep::engine
