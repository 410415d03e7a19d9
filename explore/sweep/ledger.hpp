#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

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

}  // namespace twinstep::explore::sweep
