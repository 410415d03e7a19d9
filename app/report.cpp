#include <array>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/report/pages.hpp"
#include "reports/page/page_json.hpp"
#include "reports/render/page_csv.hpp"
#include "reports/render/page_html.hpp"
#include "reports/render/page_markdown.hpp"
#include "reports/render/page_text.hpp"

namespace twinstep::app {
namespace {

/// A file that the page is written to.
struct Target {
  std::string_view option;
  std::optional<std::string> const& path;
  std::string (*render)(reports::Page const&);
};

}  // namespace

int report(ReportOptions const& options) {
  auto const targets = std::array<Target, 4>{{{"--out", options.html, reports::page_html},
                                              {"--markdown", options.markdown, reports::page_markdown},
                                              {"--csv", options.csv, reports::page_csv},
                                              {"--json", options.json, reports::page_json}}};
  auto is_written = false;
  for (auto const& target : targets) {
    if (!target.path) continue;
    check_writable(target.option, *target.path, options.results);
    is_written = true;
  }
  auto const page = report_page(options.results, options.settings);
  for (auto const& warning : page.warnings) warn(warning);
  for (auto const& target : targets)
    if (target.path) write_file(*target.path, target.render(page));
  if (options.as_text || !is_written) print(reports::page_text(page, standard_output_style()));
  return kDone;
}

}  // namespace twinstep::app
