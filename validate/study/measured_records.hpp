#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "validate/records/collective_record.hpp"

namespace twinstep::study {

/// The records of a file: JSON, or a text log of nccl-tests, whose oddities are added to `warnings`. A log does not say
/// what machine it is of: that is `named`, with as many GPUs a node as the log has ranks on a host. Throws InputError.
[[nodiscard]] std::vector<validate::CollectiveRecord> read_measured_records(
    std::string const& file, std::optional<hardware::Cluster> const& named, std::vector<std::string>& warnings);

}  // namespace twinstep::study
