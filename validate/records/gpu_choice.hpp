#pragma once

#include <string>

#include "validate/records/node_facts.hpp"

namespace twinstep::records {

/// The GPU profile that the facts mean, which ships. Says in a warning what it was chosen by, unless the PCI device or
/// `asked` names it.
/// @param asked  a profile's name, or ""
/// Throws InputError for an unknown name, and where nothing tells the GPU.
[[nodiscard]] std::string choose_gpu(NodeFacts& facts, std::string const& asked);

}  // namespace twinstep::records
