#pragma once

#include <string>

#include "reports/page/page.hpp"

namespace twinstep::reports {

/// The page as GitHub-flavoured Markdown: texts, tables, and every chart drawn with characters in a fence. Texts are
/// escaped: none of them becomes a heading, a link, HTML or a cell of its own. The same page always gives the same
/// text.
[[nodiscard]] std::string page_markdown(Page const& page);

}  // namespace twinstep::reports
