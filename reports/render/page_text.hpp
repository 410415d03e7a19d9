#pragma once

#include <string>

#include "reports/page/page.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// The page for a terminal, in lines of at most `style.width` columns where tables allow it: texts, tables, and every
/// chart that is not folded away, drawn with characters. Control characters in texts are escaped. The same
/// page always gives the same text.
[[nodiscard]] std::string page_text(Page const& page, TextStyle const& style);

}  // namespace twinstep::reports
