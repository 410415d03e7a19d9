#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace twinstep::explore::sweep {

/// How far a sweep is.
struct Advance {
  std::int64_t done = 0;
  std::int64_t total = 0;
  double elapsed_s = 0;  ///< since the first of `done`
};

/// How fast: "1,234 a second", "12.5 a second"; "2.500 s each" of what takes longer than a second.
[[nodiscard]] std::string pace_text(std::int64_t count, double seconds);

/// "[#####.....]  50 %, 500 of 1,000 points, 250 a second, 2 s left"; without the bar for a `bar_width` of 0.
[[nodiscard]] std::string progress_text(Advance const& advance, int bar_width);

/// Tells on standard error how far a sweep is: a bar that moves on a terminal, a line every half minute elsewhere.
/// Used by one thread at a time.
class Progress {
 public:
  explicit Progress(std::int64_t total);
  /// Clears the bar.
  ~Progress();
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  void advance();

 private:
  using Clock = std::chrono::steady_clock;
  void show(Clock::time_point now);

  std::int64_t total_;
  std::int64_t done_ = 0;
  bool is_terminal_;
  bool has_bar_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = began_;
};

}  // namespace twinstep::explore::sweep
