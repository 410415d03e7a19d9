#include <algorithm>
#include <array>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_files.hpp"
#include "reports/render/page_text.hpp"
#include "sim/io/outputs.hpp"

namespace twinstep::app {
namespace {

using namespace pages;

using io::Outputs;

/// A file that the page is written to.
struct Target {
  std::string_view option;
  std::optional<std::string> const& path;
  Renderer render;
};

}  // namespace

int report(ReportOptions const& options) {
  auto const as_named = options.out ? renderer_of("--out", *options.out) : reports::page_html;
  auto const targets = std::array<Target, 4>{{{"--out", options.out, as_named},
                                              {"--markdown", options.markdown, reports::page_markdown},
                                              {"--csv", options.csv, reports::page_csv},
                                              {"--json", options.json, reports::page_json}}};
  auto const changes = io::read_changes("--set", options.settings);
  auto outputs = Outputs{options.results};
  for (auto const& target : targets)
    if (target.path) outputs.expect(target.option, *target.path);
  auto const is_file = [](Target const& target) { return target.path.has_value(); };
  auto const is_printed = options.as_text || std::ranges::none_of(targets, is_file);
  if (is_printed) check_printable();
  auto results = std::vector<io::Source>{};
  for (auto const& result : options.results) results.push_back({result, io::read_text(result)});
  auto const page = [&] {
    auto progress = Progress{"report", "parts"};
    return report_page(std::move(results), changes, progress.of_parts());
  }();
  for (auto const& warning : page.warnings) warn(warning);
  for (auto const& target : targets)
    if (target.path) outputs.write(*target.path, target.render(page));
  if (is_printed) print(reports::page_text(page, standard_output_style()));
  outputs.commit();
  for (auto const& target : targets)
    if (target.path) tell_written(*target.path);
  return kDone;
}

}  // namespace twinstep::app
