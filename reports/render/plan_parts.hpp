#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/plan.hpp"
#include "reports/table.hpp"

/// What plans_text is made of.
namespace twinstep::reports {

/// "fsdp2, groups of 8, reshard after forward false, offload activations".
[[nodiscard]] std::string strategy_text(PlannedStep const& plan);
/// "64", "64, 128", and of more than three "64 to 512". Requires one at least, the smallest first.
[[nodiscard]] std::string numbers_text(std::vector<std::int64_t> const& numbers);

/// Each question of --what-if with its answers; nothing without any.
[[nodiscard]] std::string what_if_text(Plans const& plans, TextStyle const& style);
/// The fewest GPUs on which a plan fits, and the strategies of which none does.
[[nodiscard]] std::string fits_text(Plans const& plans, TextStyle const& style);

}  // namespace twinstep::reports
