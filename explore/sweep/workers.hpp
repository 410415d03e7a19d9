#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "explore/sweep/evaluate.hpp"
#include "explore/sweep/row.hpp"

/// A sweep on the cores of this machine, by oneTBB's pipeline: points come and go in order (explore/ask/parallel.hpp is
/// for what is counted beforehand).
namespace twinstep::explore::sweep {

/// The points that are still to be asked, handed out one by one in their order. Threads share it.
class Ledger {
 public:
  /// All points from 0 to below `points` but those in `done`, which ascend.
  Ledger(std::int64_t points, std::vector<std::int64_t> done);

  /// The next one; nothing when all were handed out, or after `stop`.
  [[nodiscard]] std::optional<std::int64_t> next();
  /// Hands out no more. Safe in a signal handler.
  void stop() { is_stopped_ = true; }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  /// How many there were to ask at first.
  [[nodiscard]] std::int64_t size() const { return points_ - static_cast<std::int64_t>(done_.size()); }

 private:
  std::int64_t points_;
  std::vector<std::int64_t> done_;
  std::mutex mutex_;
  std::int64_t next_ = 0;
  std::size_t next_done_ = 0;
  std::atomic<bool> is_stopped_ = false;
};

/// A point's row, or nothing where a constraint leaves the point out.
using Answer = std::optional<Row>;
/// The next point, or nothing at the end. Called by one thread at a time.
using Source = std::function<std::optional<std::int64_t>()>;
/// Takes answers one at a time, in the order in which the source gave their points.
using Sink = std::function<void(Answer)>;

/// Cores that this process may use.
[[nodiscard]] int available_cores();

/// Answers every point of the source on `jobs` threads. Throws what the evaluator, the source or the sink throws, after
/// all threads have ended.
void answer_all(Source const& source, Evaluator const& evaluator, Sink const& sink, int jobs);

}  // namespace twinstep::explore::sweep
