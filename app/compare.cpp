#include "reports/compare.hpp"

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "sim/base/units.hpp"
#include "sim/io/document.hpp"
#include "validate/records/gzip.hpp"
#include "validate/study/measured_step.hpp"

namespace twinstep::app {
namespace {

using namespace study;

timeline::Timeline read_timeline(std::string const& path) {
  auto const document = io::parse(records::read_file(path));
  if (!document.is(io::Node::Type::kObject) || !(document.has("twinstep") || document.has("traceEvents")))
    document.fail("found no timeline, expected a file that --trace wrote, or a trace of torch.profiler",
                  "make one with: twinstep simulate SCENARIO.json --trace FILE");
  return read_traces({document}, std::nullopt).timeline;
}

std::string text_of(CompareOptions const& options, timeline::Timeline const& a, timeline::Timeline const& b) try {
  auto const comparison = reports::compare(a, b);
  return options.as_json ? reports::compare_json(comparison)
                         : reports::page_text(pages::compare_page(comparison), standard_output_style());
} catch (BeyondRange const&) {
  throw InputError{
      fmt::format("{}, {}: found times or bytes whose sums are beyond 63 bits; compare files that --trace wrote",
                  one_line(options.a), one_line(options.b))};
}

}  // namespace

int compare(CompareOptions const& options) {
  auto const a = read_timeline(options.a);
  auto const b = read_timeline(options.b);
  print(text_of(options, a, b));
  return kDone;
}

}  // namespace twinstep::app
