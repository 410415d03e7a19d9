#include "reports/compare.hpp"

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "reports/compare_json.hpp"
#include "reports/render/compare_text.hpp"
#include "sim/io/timeline_json.hpp"

namespace twinstep::app {
namespace {

timeline::Timeline read_timeline(std::string const& path) {
  auto const document = io::parse_file(path);
  if (!document.is(io::Node::Type::kObject) || !document.has("twinstep"))
    document.fail("found no timeline, expected a file that --trace wrote",
                  "make one with: twinstep simulate SCENARIO.json --trace FILE");
  return io::read_timeline(document);
}

}  // namespace

int compare(CompareOptions const& options) {
  auto const a = read_timeline(options.a);
  auto const b = read_timeline(options.b);
  auto const comparison = reports::compare(a, b);
  fmt::print("{}", options.as_json ? reports::compare_json(comparison)
                                   : reports::compare_text(comparison, standard_output_style()));
  return kDone;
}

}  // namespace twinstep::app
