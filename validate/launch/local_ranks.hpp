#pragma once

#include <functional>

#include "validate/launch/launch.hpp"

namespace twinstep::launch {

/// Runs `body` in `processes` processes of this host: this one is process 0, the others are forked from it. They meet
/// in a fresh folder, which is gone afterwards, and so are they: they die with this process, and those that have not
/// ended soon after it has, or after one of them failed, are killed.
///
/// What the others throw ends them; so does the end of `body`, and destructors of what they inherited do not run.
/// Requires that this process has no other threads, which a fork would not copy.
/// Throws InputError if another process failed or was killed, with its number and its own reason; else what `body`
/// threw here.
void run_local_ranks(int processes, std::function<void(Launch const& launch)> const& body);

}  // namespace twinstep::launch
