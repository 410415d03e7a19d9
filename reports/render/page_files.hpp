#pragma once

#include <string>

#include "reports/page/page.hpp"

namespace twinstep::reports {

/// The page as GitHub-flavoured Markdown: texts, tables, and every chart drawn with characters in a fence. Texts are
/// escaped: none of them becomes a heading, a link, HTML or a cell of its own. The same page always gives the same
/// text.
[[nodiscard]] std::string page_markdown(Page const& page);

/// The page as one HTML file that needs nothing else: style, script, charts' library and numbers are in it, so that it
/// works offline. In a build without the library, and where scripts may not run, charts are drawn as text; all tables
/// are there. The numbers are those of `page_json`. The same page always gives the same text. Cost: linear, and about
/// a megabyte for the library.
[[nodiscard]] std::string page_html(Page const& page);

/// Every number of the page as comma-separated values (RFC 4180, with line feeds), in long form: one line for each
/// point of a chart and for each cell of a table.
///   section, chart   their titles; a table counts as a chart
///   series           its name; of a table, the header of the column
///   x, x_end         numbers, or names of categories; of a table, the first cell of the row. x_end: spans only
///   y, low, high     numbers as exact as the page has them; of a table, the cell's text
///   x_unit, y_unit   of the axes
///   note
/// The same page always gives the same text.
[[nodiscard]] std::string page_csv(Page const& page);

/// The page as one JSON document: the keys are the members of the structures of page.hpp, what is absent, empty or
/// false is left out. The same page always gives the same text. Cost: linear.
[[nodiscard]] std::string page_json(Page const& page);

}  // namespace twinstep::reports
