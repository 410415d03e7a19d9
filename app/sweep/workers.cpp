#include "app/sweep/workers.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <utility>

namespace twinstep::app::sweep {

int available_cores() {
  return tbb::info::default_concurrency();
}

void answer_all(Source const& source, Evaluator const& evaluator, Sink const& sink, int jobs) {
  using tbb::filter_mode;
  auto const ask = [&](tbb::flow_control& flow) {
    auto const point = source();
    if (!point) flow.stop();
    return point.value_or(0);
  };
  auto const answer = [&](std::int64_t point) { return evaluator(point); };
  auto const pass_on = [&](Answer row) { sink(std::move(row)); };
  auto const pipeline = tbb::make_filter<void, std::int64_t>(filter_mode::serial_in_order, ask) &
                        tbb::make_filter<std::int64_t, Answer>(filter_mode::parallel, answer) &
                        tbb::make_filter<Answer, void>(filter_mode::serial_in_order, pass_on);
  // More threads than cores where that was asked for.
  auto const limit = tbb::global_control{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs)};
  constexpr auto kInFlightPerJob = 8;  // a slow point keeps few others waiting, and their rows in memory
  tbb::task_arena{jobs}.execute(
      [&] { tbb::parallel_pipeline(static_cast<std::size_t>(jobs) * kInFlightPerJob, pipeline); });
}

}  // namespace twinstep::app::sweep
