#include "explore/sweep/workers.hpp"

#include <atomic>
#include <exception>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <utility>

namespace twinstep::explore::sweep {
namespace {

/// The first exception of several threads, kept until they have ended: thrown through oneTBB's pipeline it would leave
/// behind the rows that are on their way.
class FirstFailure {
 public:
  /// What `work` returns; `otherwise` if it throws, or anything has before.
  template <class Work, class Result>
  Result run(Work const& work, Result otherwise) {
    if (has_failed_) return otherwise;
    try {
      return work();
    } catch (...) {
      auto const lock = std::scoped_lock{mutex_};
      if (!first_) first_ = std::current_exception();
      has_failed_ = true;
      return otherwise;
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace

Ledger::Ledger(std::int64_t points, std::vector<std::int64_t> done) : points_{points}, done_{std::move(done)} {}

std::optional<std::int64_t> Ledger::next() {
  auto const lock = std::lock_guard{mutex_};
  while (next_done_ < done_.size() && done_[next_done_] == next_) {
    ++next_done_;
    ++next_;
  }
  if (is_stopped_ || next_ >= points_) return std::nullopt;
  return next_++;
}

int available_cores() {
  return tbb::info::default_concurrency();
}

void answer_all(Source const& source, Evaluator const& evaluator, Sink const& sink, int jobs) {
  using tbb::filter_mode;
  auto failure = FirstFailure{};
  auto const ask = [&](tbb::flow_control& flow) {
    auto const point = failure.run(source, std::optional<std::int64_t>{});
    if (!point) flow.stop();
    return point.value_or(0);
  };
  auto const answer = [&](std::int64_t point) {
    return failure.run([&]() -> Answer { return evaluator(point); }, Answer{});
  };
  auto const pass_on = [&](Answer row) { failure.run([&] { return sink(std::move(row)), true; }, false); };
  auto const pipeline = tbb::make_filter<void, std::int64_t>(filter_mode::serial_in_order, ask) &
                        tbb::make_filter<std::int64_t, Answer>(filter_mode::parallel, answer) &
                        tbb::make_filter<Answer, void>(filter_mode::serial_in_order, pass_on);
  // More threads than cores where that was asked for.
  auto const limit = tbb::global_control{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs)};
  constexpr auto kInFlightPerJob = 8;  // a slow point keeps few others waiting, and their rows in memory
  tbb::task_arena{jobs}.execute(
      [&] { tbb::parallel_pipeline(static_cast<std::size_t>(jobs) * kInFlightPerJob, pipeline); });
  failure.rethrow();
}

}  // namespace twinstep::explore::sweep
