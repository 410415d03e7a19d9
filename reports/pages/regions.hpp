#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/page/page.hpp"

namespace twinstep::pages {

/// Adds a place that lies in a region called `name`: the last region grows if it has that name, else one begins.
inline void add_to_regions(std::vector<reports::Mark>& regions, double at, std::string name) {
  if (regions.empty() || regions.back().text != name) regions.push_back({.at = at, .text = std::move(name)});
  regions.back().end = at;
}

}  // namespace twinstep::pages
