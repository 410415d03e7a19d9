#pragma once

#include <string>
#include <string_view>

#include "validate/records/node_facts.hpp"

namespace twinstep::records {

/// What to do with NVLinks that a dump says lead from a GPU to itself.
enum class SelfLinks : std::uint8_t {
  kRefuse,   ///< the file is wrong
  kLeaveOut  ///< go on without them, with a warning
};

/// Reads a topology that NCCL wrote (NCCL_TOPO_DUMP_FILE) or was given (NCCL_TOPO_FILE); RCCL's are alike.
/// Source of the elements and attributes: NVIDIA/nccl, src/graph/topo.cc and xml.cc.
///
/// Not taken at their word, with a warning each: bridges that report Gen1 or Gen2 above faster links (an idle or
/// virtual port), links without a speed, NICs without one (-1), files that NCCL completes with NVLinks itself. Throws
/// InputError for what is not such a file: no XML, no GPU, a device below itself or twice, one that hangs below no CPU,
/// and links of a GPU to itself.
[[nodiscard]] NodeFacts read_nccl_topology(std::string const& name, std::string_view text,
                                           SelfLinks self_links = SelfLinks::kRefuse);

}  // namespace twinstep::records
