#pragma once

#include <string>
#include <vector>

#include "reports/page/page.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::pages {

/// The spans of a timeline, a row for each stream of the first track of every role, a series for each kind of work.
/// Bars that an eye could not tell apart are drawn as one that says how many it stands for: of one kind in one row,
/// less than a two-thousandth of the step long and apart. Cost: a sort of the spans.
[[nodiscard]] reports::Chart streams_chart(timeline::Timeline const& timeline, std::string id, std::string title);

}  // namespace twinstep::pages
