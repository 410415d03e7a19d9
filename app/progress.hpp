#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace twinstep::app {

/// While it lives, tells on standard error how far long work is: a bar that moves on a terminal, a line each ten
/// seconds elsewhere. Work that does not know how much of it there is tells how long it has taken. Nothing is said of
/// what is done within a second. Any thread may tell it.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// "calibrating", and what is counted: "points".
  Progress(std::string task, std::string_view unit);
  ~Progress();
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// So much is done, of so much in all; 0 where that is not known.
  void at(std::int64_t done, std::int64_t total);
  /// One more is done.
  void advance() { ++done_; }
  [[nodiscard]] double elapsed_s() const;
  /// Tells it which part of a report is at work.
  [[nodiscard]] std::function<void(std::size_t part, std::size_t parts, std::string_view name)> of_parts();

 private:
  void say_until(std::stop_token const& stop);
  [[nodiscard]] std::string text(int bar_width) const;

  std::string task_;
  std::string unit_;
  bool is_terminal_;
  Clock::time_point began_ = Clock::now();
  std::atomic<std::int64_t> done_ = 0;
  std::atomic<std::int64_t> total_ = 0;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread speaker_;  // last: it uses all of the above
};

}  // namespace twinstep::app
