#pragma once

#include <string>
#include <utility>

#include "sim/base/units.hpp"

namespace twinstep::app {

/// The smallest and the largest size of a sweep, as nccl-tests' options -b and -e spell them: "8", "64K", "128M", "16G"
/// with K = 1024. Throws InputError for anything else, zero too, and where the first is the larger.
[[nodiscard]] std::pair<Bytes, Bytes> read_sizes(std::string const& smallest, std::string const& largest);

}  // namespace twinstep::app
