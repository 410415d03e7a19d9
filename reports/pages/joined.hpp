#pragma once

#include <vector>

#include "reports/page/page.hpp"

namespace twinstep::pages {

/// One page of several, in their order.
///
/// Sections that have the same title are one section, in which charts of the same kind are one chart: a line, or a bar,
/// for each result, named "[2] zero-3" after the place of its page. Units are made the same. Areas and timelines stand
/// one after another. Tables with the same columns are one table. Other sections keep the name of their page.
[[nodiscard]] reports::Page joined(std::vector<reports::Page> pages);

}  // namespace twinstep::pages
