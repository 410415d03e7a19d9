#include "app/progress.hpp"

#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "app/output.hpp"
#include "explore/sweep/outcome.hpp"
#include "reports/quantity_text.hpp"

namespace twinstep::app {

Progress::Progress(std::string task, std::string_view unit)
    : task_{std::move(task)},
      unit_{unit},
      is_terminal_{isatty(STDERR_FILENO) != 0},
      speaker_{[this](std::stop_token const& stop) { say_until(stop); }} {}

Progress::~Progress() {
  speaker_.request_stop();
}

void Progress::at(std::int64_t done, std::int64_t total) {
  done_ = done;
  total_ = total;
}

std::function<void(std::size_t, std::size_t, std::string_view)> Progress::of_parts() {
  return [this](std::size_t part, std::size_t parts, std::string_view) {
    at(static_cast<std::int64_t>(part) - 1, static_cast<std::int64_t>(parts));
  };
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

std::string Progress::text(int bar_width) const {
  if (auto const total = total_.load(); total > 0)
    return fmt::format("{}: {}", task_, explore::sweep::progress_text({done_, total, elapsed_s(), unit_}, bar_width));
  auto const done = done_.load();
  return fmt::format("{}: {}{:.0f} s", task_, done > 0 ? fmt::format("{} {}, ", reports::whole_text(done), unit_) : "",
                     elapsed_s());
}

void Progress::say_until(std::stop_token const& stop) {
  constexpr auto kBarWidth = 24;
  auto const pause = is_terminal_ ? std::chrono::milliseconds{200} : std::chrono::milliseconds{10'000};
  auto next = began_ + (is_terminal_ ? std::chrono::milliseconds{1'000} : pause);
  auto has_bar = false;
  auto lock = std::unique_lock{mutex_};
  while (!ended_.wait_until(lock, stop, next, [&] { return stop.stop_requested(); })) {
    if (is_terminal_)
      std::fputs(fmt::format("\r\x1b[K{}", text(kBarWidth)).c_str(), stderr);
    else
      complain(text(0));
    has_bar = is_terminal_;
    next += pause;
  }
  if (has_bar) std::fputs("\r\x1b[K", stderr);
}

}  // namespace twinstep::app
