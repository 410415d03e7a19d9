#pragma once

#include <optional>

#include "sim/hardware/cluster.hpp"

namespace twinstep::explore {

/// What a rank may hold beside its device; absent where it is not known, or not there.
struct HostShare {
  std::optional<Bytes> memory;
  std::optional<Bytes> drives;
};

/// The ranks of a host share its memory and drives evenly.
[[nodiscard]] HostShare host_share(hardware::Node const& node);

}  // namespace twinstep::explore
