#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explore/ask/ask.hpp"
#include "explore/ask/parts.hpp"
#include "explore/sweep/row.hpp"
#include "explore/sweep/spec.hpp"
#include "sim/engine/virtual_executor.hpp"

/// The points of a sweep, answered on the cores of this machine by oneTBB's pipeline: they come and go in order
/// (explore/ask/parallel.hpp is for what is counted beforehand).
namespace twinstep::explore::sweep {

/// Answers points of a sweep. Threads share it; a point's row depends on nothing but the sweep and the options.
///
/// A cluster, its machine and a model are made once for all points that agree on them.
class Evaluator {
 public:
  Evaluator(Sweep const& sweep, engine::RunOptions options);

  /// The row of a point, or nothing if a constraint leaves it out. A point that is wrong or cannot be laid out is a row
  /// with its reason. Cost: that of a simulation.
  [[nodiscard]] std::optional<Row> operator()(std::int64_t point) const;

  /// Reads points of every value of every axis, so that a mistake of the sweep shows before anything is simulated.
  /// Throws InputError where a path does not exist, whatever its value, and where a constraint never has an answer.
  /// Returns what the first point's scenario warns of.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] Scenario scenario(io::Node const& document) const;
  [[nodiscard]] Checks checks(std::int64_t point) const;

  Sweep const* sweep_;
  engine::RunOptions options_;
  std::shared_ptr<Parts> parts_;
  mutable std::mutex mutex_;
  mutable std::set<std::int64_t> checked_;  // strategies
};

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
