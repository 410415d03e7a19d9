#pragma once

#include <string>

#include "reports/page/page.hpp"

namespace twinstep::reports {

/// The page as one JSON document: the keys are the members of the structures of page.hpp, what is absent, empty or
/// false is left out. The same page always gives the same text. Cost: linear.
[[nodiscard]] std::string page_json(Page const& page);

}  // namespace twinstep::reports
