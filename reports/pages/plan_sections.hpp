#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/page/page.hpp"
#include "reports/plan.hpp"

/// What plan_page is made of.
namespace twinstep::pages {

/// "fsdp2, groups of 8, reshard after forward false, offload activations".
[[nodiscard]] std::string strategy_text(reports::PlannedStep const& plan);
/// What the job costs: money where there is a price, else GPU-hours.
[[nodiscard]] std::string cost_text(reports::Job const& job);
/// "64", "64, 128", and of more than three "64 to 512". Requires one at least, the smallest first.
[[nodiscard]] std::string numbers_text(std::vector<std::int64_t> const& numbers);

/// Plans of which none is both faster and cheaper, and the others beside them. Requires some.
[[nodiscard]] reports::Section trade_section(reports::Plans const& plans);
/// A section for each question of --what-if with its answers.
void add_what_if(reports::Page& page, reports::Plans const& plans);
/// The fewest GPUs on which a plan fits, and the strategies of which none does.
void add_fits(reports::Page& page, reports::Plans const& plans);

}  // namespace twinstep::pages
