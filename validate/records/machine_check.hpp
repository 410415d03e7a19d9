#pragma once

#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/records/collective_record.hpp"

namespace twinstep::validate {

/// Whether a record can be of `machine` at all: the part of `check_records` that looks at the library and at the name
/// of the device. Adds sentences without the id of the record; none where either side does not say.
void check_machine(CollectiveRecord const& record, hardware::Cluster const& machine, std::vector<std::string>& found);

}  // namespace twinstep::validate
