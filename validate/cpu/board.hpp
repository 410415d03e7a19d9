#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace twinstep::cpu {

/// Thrown out of a wait when the run stops because of somebody else.
struct Stopped {};

/// Where the threads of one run wait for each other. All of its state, and all that waits look at, is guarded by one
/// mutex; a thread computes and moves data without it.
///
/// The board counts the threads that are neither waiting nor gone. When there is none left, and no wait is over, the
/// run is stuck: every wait then ends, and the run fails with the list of who waits for whom. So no run hangs and none
/// needs a time-out.
class Board {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// @param threads  how many threads each rank has, by rank. All count as running from the start.
  explicit Board(std::vector<std::size_t> threads);

  [[nodiscard]] Lock lock() { return Lock{mutex_}; }

  /// Waits as a thread of `rank` until `is_over`, which is looked at under the lock whenever the rank is woken. `why`
  /// says what for, as in "rank 0 waits for …"; a thread that merely has nothing to do says "".
  /// @throws Stopped if the run stops first
  void wait(Lock& lock, std::size_t rank, std::function<bool()> const& is_over,
            std::function<std::string()> const& why);
  /// Makes the threads of `rank` look again. Requires the lock.
  void wake(std::size_t rank) { woken_[rank].notify_all(); }
  /// Sleeps as a running thread of `rank`.
  /// @throws Stopped if the run stops first
  void sleep_until(std::size_t rank, std::chrono::steady_clock::time_point end);

  /// A thread of `rank` is gone.
  void leave(std::size_t rank);
  /// Ends every wait; the first reason given is the run's. Requires that the caller does not hold the lock.
  void stop(std::exception_ptr reason);
  /// Why the run stopped; null if it did not. Call after all threads are gone.
  [[nodiscard]] std::exception_ptr reason() const { return reason_; }

 private:
  struct Waiter {
    std::size_t rank = 0;
    std::function<bool()> const* is_over = nullptr;
    std::function<std::string()> const* why = nullptr;
  };
  void stop_locked(std::exception_ptr reason);
  void stop_if_stuck();
  [[nodiscard]] std::string who_waits_for_whom() const;

  std::mutex mutex_;
  std::vector<std::condition_variable> woken_;  // by rank
  std::vector<std::size_t> threads_;            // not gone yet, by rank
  std::size_t running_ = 0;
  std::vector<Waiter*> waiters_;
  bool is_stopped_ = false;
  std::exception_ptr reason_;
};

}  // namespace twinstep::cpu
