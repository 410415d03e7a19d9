#include "validate/cpu/board.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/program/stuck_program.hpp"

namespace twinstep::cpu {
namespace {
constexpr std::size_t kMostReasonsListed = 12;
}

Board::Board(std::vector<std::size_t> threads)
    : woken_(threads.size()),
      threads_{std::move(threads)},
      running_{std::accumulate(threads_.begin(), threads_.end(), std::size_t{0})} {}

void Board::wait(Lock& lock, std::size_t rank, std::function<bool()> const& is_over,
                 std::function<std::string()> const& why) {
  if (!is_stopped_ && is_over()) return;
  auto waiter = Waiter{rank, &is_over, &why};
  waiters_.push_back(&waiter);
  --running_;
  stop_if_stuck();
  woken_[rank].wait(lock, [&] { return is_stopped_ || is_over(); });
  ++running_;
  std::erase(waiters_, &waiter);
  if (is_stopped_) throw Stopped{};
}

void Board::sleep_until(std::size_t rank, std::chrono::steady_clock::time_point end) {
  auto held = lock();
  woken_[rank].wait_until(held, end, [&] { return is_stopped_; });
  if (is_stopped_) throw Stopped{};
}

void Board::leave(std::size_t rank) {
  auto const held = lock();
  --threads_[rank];
  --running_;
  stop_if_stuck();
}

void Board::stop(std::exception_ptr reason) {
  auto const held = lock();
  stop_locked(std::move(reason));
}

void Board::stop_locked(std::exception_ptr reason) {
  if (is_stopped_) return;
  is_stopped_ = true;
  reason_ = std::move(reason);
  for (auto& woken : woken_) woken.notify_all();
}

void Board::stop_if_stuck() {
  if (running_ > 0 || is_stopped_ || waiters_.empty()) return;
  // A thread whose wait is over has been woken and will run as soon as it gets the lock.
  if (std::ranges::any_of(waiters_, [](Waiter const* waiter) { return (*waiter->is_over)(); })) return;
  stop_locked(std::make_exception_ptr(program::StuckProgram{who_waits_for_whom()}));
}

std::string Board::who_waits_for_whom() const {
  auto reasons = std::vector<std::pair<std::size_t, std::string>>{};
  for (auto const* waiter : waiters_)
    if (auto text = (*waiter->why)(); !text.empty()) reasons.emplace_back(waiter->rank, std::move(text));
  std::ranges::sort(reasons);
  auto texts = std::vector<std::string>{};
  for (auto& [rank, text] : reasons) texts.push_back(std::move(text));
  for (std::size_t rank = 0; rank < threads_.size(); ++rank)
    if (threads_[rank] == 0) texts.push_back(fmt::format("rank {} has finished", rank));
  if (texts.size() > kMostReasonsListed) {
    auto const left_out = texts.size() - kMostReasonsListed;
    texts.resize(kMostReasonsListed);
    texts.push_back(fmt::format("and {} more", left_out));
  }
  return fmt::format("stuck: {}", fmt::join(texts, "; "));
}

}  // namespace twinstep::cpu
