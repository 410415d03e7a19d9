#pragma once

#include <string>

#include "reports/page/page.hpp"

namespace twinstep::reports {

/// The page as one HTML file that needs nothing else: style, script, charts' library and numbers are in it, so that it
/// works offline. In a build without the library, and where scripts may not run, charts are drawn as text; all tables
/// are there. The numbers are those of `page_json`. The same page always gives the same text. Cost: linear, and about
/// a megabyte for the library.
[[nodiscard]] std::string page_html(Page const& page);

}  // namespace twinstep::reports
