#include "explore/sweep/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/quantity_text.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kBarWidth = 24;

/// "8 s", "3 min", "2.5 h"
std::string time_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string pace_text(std::int64_t count, double seconds) {
  auto const each = seconds / static_cast<double>(count);
  if (each > 1) return reports::time_text(to_duration(Seconds{each})) + " each";
  return reports::count_text(1 / each) + " a second";
}

std::string progress_text(Advance const& advance, int bar_width) {
  auto const part = advance.total > 0 ? static_cast<double>(advance.done) / static_cast<double>(advance.total) : 1.0;
  auto const full = static_cast<std::size_t>(part * bar_width);
  auto const bar = std::string(full, '#') + std::string(static_cast<std::size_t>(bar_width) - full, '.');
  auto text = bar_width > 0 ? fmt::format("[{}] ", bar) : std::string{};
  text += fmt::format("{:3.0f} %, {} of {} points", part * 100, reports::whole_text(advance.done),
                      reports::whole_text(advance.total));
  if (advance.done == 0 || advance.elapsed_s <= 0) return text;
  auto const left = static_cast<double>(advance.total - advance.done) / static_cast<double>(advance.done);
  return text +
         fmt::format(", {}, {} left", pace_text(advance.done, advance.elapsed_s), time_text(left * advance.elapsed_s));
}

Progress::Progress(std::int64_t total) : total_{total}, is_terminal_{isatty(STDERR_FILENO) != 0} {}

Progress::~Progress() {
  if (has_bar_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance() {
  ++done_;
  auto const now = Clock::now();
  auto const pause = is_terminal_ ? std::chrono::milliseconds{200} : std::chrono::milliseconds{30'000};
  if (now - shown_ < pause) return;
  shown_ = now;
  show(now);
}

void Progress::show(Clock::time_point now) {
  auto const advance = Advance{done_, total_, std::chrono::duration<double>(now - began_).count()};
  has_bar_ = is_terminal_;
  auto const text = is_terminal_ ? fmt::format("\r\x1b[K{}", progress_text(advance, kBarWidth))
                                 : fmt::format("twinstep: {}\n", progress_text(advance, 0));
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace twinstep::explore::sweep
