#pragma once

#include <string_view>

#include "explore/sweep/results.hpp"
#include "sim/io/document.hpp"

namespace twinstep::pages {

/// Whether a text begins like what `sweep` exports as JSON Lines.
[[nodiscard]] bool is_sweep_lines(std::string_view text);

/// The results in such a text. What it cannot know stays empty: the sweep, and the version that made it. Throws
/// InputError with the number of the line that is wrong.
[[nodiscard]] explore::sweep::Results read_sweep_lines(io::Source const& source);

}  // namespace twinstep::pages
