#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.hpp"

namespace twinstep::app {

/// A size as nccl-tests' options spell it: "8", "64K", "128M", "16G" with K = 1024. `option` is what messages call it.
/// Throws InputError for anything else, zero too.
[[nodiscard]] Bytes read_size(std::string_view option, std::string const& text);

}  // namespace twinstep::app
