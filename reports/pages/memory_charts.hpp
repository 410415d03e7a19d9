#pragma once

#include <string>

#include "reports/page/page.hpp"
#include "reports/summary.hpp"

namespace twinstep::pages {

/// What the device's track that holds most holds over the step, stacked by category, with a line at its capacity and
/// one at the peak. What the host allocates while it issues an operation is drawn at the time at which the GPU comes to
/// that operation, so that the chart lies below the streams'. Some 400 moments are drawn: of those that fall together
/// the one at which most is allocated, so that the peak is among them.
[[nodiscard]] reports::Chart memory_over_time_chart(timeline::Timeline const& timeline, reports::Summary const& summary,
                                                    std::string id, std::string title);

/// What is held at the peak that decides whether the step fits, category by category: each bar stands on those before
/// it, the last one is their total.
[[nodiscard]] reports::Chart memory_waterfall_chart(reports::Summary const& summary, std::string id, std::string title);

}  // namespace twinstep::pages
