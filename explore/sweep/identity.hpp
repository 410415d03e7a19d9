#pragma once

#include "explore/sweep/results.hpp"
#include "explore/sweep/spec.hpp"
#include "sim/engine/virtual_executor.hpp"

namespace twinstep::explore::sweep {

/// What decides about the rows of a sweep: the program's version and the hash of its model, the sweep, its base, the
/// contents of the files that they name, the options.
[[nodiscard]] Manifest manifest_of(Sweep const& sweep, engine::RunOptions const& options);

}  // namespace twinstep::explore::sweep
