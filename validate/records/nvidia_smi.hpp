#pragma once

#include <string>
#include <string_view>

#include "validate/records/node_facts.hpp"

namespace twinstep::records {

/// Reads the matrix that `nvidia-smi topo -m` prints: X for the GPU itself, NV# for that many NVLinks, otherwise the
/// distance (PIX, PXB, PHB, NODE, SYS). Rows of NICs may be missing: their columns say the same. Of several matrices in
/// one file the first is read, with a warning. What two cells say differently, and rows that can be filled from their
/// columns, are warnings.
/// Throws InputError where there is no matrix, a GPU has no row, a row ends before its GPUs, or a cell has no meaning.
[[nodiscard]] NodeFacts read_nvidia_smi(std::string const& name, std::string_view text);

}  // namespace twinstep::records
