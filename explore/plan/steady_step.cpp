#include "explore/plan/steady_step.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "explore/ask/ask.hpp"

namespace twinstep::explore::plan {
namespace {

constexpr std::int64_t kFew = 2;
constexpr std::int64_t kOneMore = 3;

std::optional<reports::Summary> simulate(Scenario const& scenario, engine::RunOptions const& options = {}) {
  auto outcome = run_variation(scenario, options);
  auto* const run = std::get_if<Run>(&outcome);
  if (run == nullptr) return std::nullopt;
  return std::move(run->summary);
}

/// What each micro-batch holds of its own from the start of the step: its inputs.
void add_inputs(reports::Summary const& few, std::int64_t further, reports::Summary& summary) {
  constexpr auto kInputs = static_cast<std::size_t>(program::MemoryCategory::kInputs);
  auto const more = (summary.peak.held[kInputs] - few.peak.held[kInputs]) * further;
  summary.peak.held[kInputs] += more;
  summary.reserved_peak.held[kInputs] += more;
  summary.fits = summary.fits && (summary.capacity == Bytes{} || summary.reserved_peak.total() <= summary.capacity);
}

/// A step of `count` micro-batches, by steps of kFew and of kOneMore.
reports::Summary continued(reports::Summary const& few, reports::Summary one_more, std::int64_t count) {
  auto const before = one_more.step_time;
  one_more.step_time += (one_more.step_time - few.step_time) * (count - kOneMore);
  one_more.exposed_communication += (one_more.exposed_communication - few.exposed_communication) * (count - kOneMore);
  auto const longer = static_cast<double>(count) / kOneMore;
  one_more.tokens = one_more.tokens / kOneMore * count;
  auto const faster = longer * (to_seconds(before).count() / to_seconds(one_more.step_time).count());
  one_more.token_rate = one_more.token_rate * faster;
  if (one_more.mfu) *one_more.mfu *= faster;
  add_inputs(few, count - kOneMore, one_more);
  return one_more;
}

}  // namespace

std::optional<reports::Summary> simulate_steadily(Scenario scenario) {
  auto& plan = scenario.plan;
  auto const count = strategies::accumulation(plan);
  if (count <= kLongestWhole) return simulate(scenario);
  auto const with = [&](std::int64_t micro_batches, engine::RunOptions const& options) {
    plan.batch.global_batch = plan.parallel.ranks * plan.batch.micro_batch * micro_batches;
    return simulate(scenario, options);
  };
  auto one_more = with(kOneMore, {});
  if (!one_more || !one_more->fits) return one_more;
  auto const few = with(kFew, {.replays_allocator = false});
  if (!few) return std::nullopt;
  return continued(*few, std::move(*one_more), count);
}

}  // namespace twinstep::explore::plan
