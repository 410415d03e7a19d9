#pragma once

#include "sim/hardware/cluster.hpp"
#include "validate/records/collective_record.hpp"

namespace twinstep::validate {

/// The machine that a record was measured on, from its physical facts, with the library's version and environment that
/// the record states. Where the version is stated, its tuner chooses the algorithms; where not, our costs do, with the
/// newest version's latencies. Throws
/// InputError for a record without facts, for facts that are not known, and for a library that is neither NCCL nor
/// RCCL.
[[nodiscard]] hardware::Cluster machine_of(CollectiveRecord const& record);

/// The same on a machine that the user named.
[[nodiscard]] hardware::Cluster machine_of(CollectiveRecord const& record, hardware::Cluster named);

}  // namespace twinstep::validate
