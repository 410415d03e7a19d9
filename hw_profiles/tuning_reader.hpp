#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/hardware/tuning.hpp"
#include "sim/io/document.hpp"

namespace twinstep::hw_profiles {

/// The constants of one version of NCCL, out of the list "versions" of a file such as
/// hw_profiles/tuning/nccl.json.
///
/// The list is sorted by version; every entry changes the ones before it, and the first is complete. Taken is the last
/// entry that is not newer than `version` ("2.27.7"; "" for the newest of all).
/// Throws InputError for a version that is older than the first entry or is not a version, and for an incomplete list.
[[nodiscard]] hardware::Tuning read_tuning(io::Node const& versions, std::string_view version);

/// The same out of the shipped table that `name` names; "none" has no constants.
[[nodiscard]] hardware::Tuning read_named_tuning(io::Node const& name, std::string_view version);

/// NCCL's constants as `version` has them, or the newest for ""; nothing for a version older than the shipped table.
[[nodiscard]] std::optional<hardware::Tuning> tuning_of(std::string const& version);

}  // namespace twinstep::hw_profiles
