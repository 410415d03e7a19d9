#include "reports/plan.hpp"

#include <chrono>
#include <mutex>

#include <fmt/core.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/plan_question.hpp"
#include "explore/plan/planner.hpp"
#include "reports/pages/pages.hpp"
#include "reports/render/page_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::app {
namespace {

using namespace explore;

using Clock = std::chrono::steady_clock;

/// Tells on standard error how far a long search is: after a second, then after twice as long each time.
class Progress {
 public:
  void operator()() {
    auto const lock = std::lock_guard{mutex_};
    ++simulations_;
    auto const elapsed = std::chrono::duration<double>(Clock::now() - began_).count();
    if (elapsed < next_) return;
    next_ = 2 * elapsed;
    complain(fmt::format("searching: {} simulated in {:.0f} s", simulations_, elapsed));
  }
  [[nodiscard]] Seconds elapsed() const {
    return Seconds{std::chrono::duration<double>(Clock::now() - began_).count()};
  }

 private:
  std::mutex mutex_;
  Clock::time_point began_ = Clock::now();
  std::size_t simulations_ = 0;
  double next_ = 1;
};

}  // namespace

int plan_training(PlanOptions const& options) {
  check_printable();
  auto progress = Progress{};
  auto const plans = plan::make_plans(read_plan_question(options), [&] { progress(); });
  for (auto const& warning : plans.warnings) warn(warning);
  if (options.as_json) {
    print(reports::plans_json(plans, progress.elapsed()));
    return kDone;
  }
  auto page = pages::plan_page(plans);
  page.warnings.clear();  // they stand on standard error
  print(page_text(page, standard_output_style(), reports::Charts::kLeftOut));
  return kDone;
}

}  // namespace twinstep::app
