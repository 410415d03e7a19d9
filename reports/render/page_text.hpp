#pragma once

#include <cstdint>
#include <string>

#include "reports/page/page.hpp"
#include "reports/table.hpp"

namespace twinstep::reports {

/// Whether charts are drawn with characters.
enum class Charts : std::uint8_t { kDrawn, kLeftOut };

/// The page for a terminal, in lines of at most `style.width` columns where tables allow it: texts, charts, tables,
/// notes and lines of code that are not folded away. A section of which nothing is shown is left out. Lines of code are
/// never cut. Control characters in texts are escaped. The same page always gives the same text.
[[nodiscard]] std::string page_text(Page const& page, TextStyle const& style, Charts charts = Charts::kDrawn);

}  // namespace twinstep::reports
