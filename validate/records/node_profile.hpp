#pragma once

#include <string>

#include "validate/records/node_facts.hpp"

namespace twinstep::records {

/// The facts as a node profile: the shipped one that is nearest, and what the dump says instead, every number with the
/// dump as its source. `profiles check` accepts it.
/// Adds a warning for everything that had to be chosen: the GPU, where the dump does not name it, counts that a profile
/// cannot have, rates that are odd.
/// @param gpu  name of the GPU's profile, or "" to choose by PCI device, compute capability, NVLinks or PCIe rate
/// Throws InputError for an unknown GPU, and where nothing tells which it is.
[[nodiscard]] std::string node_profile(NodeFacts& facts, std::string const& gpu = {});

/// The GPU profile that the facts mean, which ships. Says in a warning what it was chosen by, unless the PCI device or
/// `asked` names it.
/// @param asked  a profile's name, or ""
/// Throws InputError for an unknown name, and where nothing tells the GPU.
[[nodiscard]] std::string choose_gpu(NodeFacts& facts, std::string const& asked);

}  // namespace twinstep::records
