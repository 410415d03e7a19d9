#include "reports/plan.hpp"

#include <chrono>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/plan_question.hpp"
#include "app/progress.hpp"
#include "explore/plan/planner.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

using namespace explore;

}  // namespace

int plan_training(PlanOptions const& options) {
  check_printable();
  auto const began = Progress::Clock::now();
  auto const plans = [&] {
    auto progress = Progress{"searching", "steps simulated"};
    return plan::make_plans(read_plan_question(options), [&] { progress.advance(); });
  }();
  for (auto const& warning : plans.warnings) warn(warning);
  if (options.as_json) {
    print(reports::plans_json(plans, Seconds{std::chrono::duration<double>(Progress::Clock::now() - began).count()}));
    return kDone;
  }
  auto page = pages::plan_page(plans);
  page.warnings.clear();  // they stand on standard error
  print(page_text(page, standard_output_style(), reports::Charts::kLeftOut));
  return kDone;
}

}  // namespace twinstep::app
