#include "explore/sweep/ledger.hpp"

#include <utility>

namespace twinstep::explore::sweep {

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

}  // namespace twinstep::explore::sweep
