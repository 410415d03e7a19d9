#pragma once

#include <string_view>

/// The page's own source and the library that it draws with, as they were when the program was built.
namespace twinstep::reports::web {

extern std::string_view const kTemplate;  ///< page.html, with {{names}} for what is filled in
extern std::string_view const kStyle;     ///< CSS
extern std::string_view const kScript;    ///< the page's own JavaScript
extern std::string_view const kEcharts;   ///< Apache ECharts; empty in a build without it: pages then draw no charts
extern std::string_view const kNotices;   ///< the licence notices that ECharts asks to be kept

}  // namespace twinstep::reports::web
