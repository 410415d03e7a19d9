#include "reports/compare.hpp"

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "reports/compare_json.hpp"
#include "reports/render/compare_text.hpp"
#include "sim/io/timeline_json.hpp"

namespace twinstep::app {

int compare(CompareOptions const& options) {
  auto const a = io::read_timeline(io::parse_file(options.a));
  auto const b = io::read_timeline(io::parse_file(options.b));
  auto const comparison = reports::compare(a, b);
  fmt::print("{}", options.as_json ? reports::compare_json(comparison)
                                   : reports::compare_text(comparison, standard_output_style()));
  return kDone;
}

}  // namespace twinstep::app
