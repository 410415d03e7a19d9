#include "sim/collectives/splits.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::collectives {

Splits::Splits(std::int64_t ranks, std::span<std::int64_t const> counts) : ranks_{ranks}, counts_{counts} {
  if (ranks < 1 || std::cmp_not_equal(counts.size(), ranks * ranks))
    throw InputError{
        fmt::format("splits: {} counts for an all_to_all of {} ranks; give {}, one for each pair of ranks, "
                    "row by row in the order of senders",
                    counts.size(), ranks, ranks * ranks)};
  auto const negative = std::ranges::find_if(counts, [](std::int64_t count) { return count < 0; });
  if (negative == counts.end()) return;
  auto const place = negative - counts.begin();
  throw InputError{
      fmt::format("splits: rank {} sends {} to rank {}; give 0 or more", place / ranks, *negative, place % ranks)};
}

std::int64_t Splits::begin_at_sender(std::int64_t from, std::int64_t to) const {
  auto before = std::int64_t{0};
  for (auto other = std::int64_t{0}; other < to; ++other) before += count(from, other);
  return before;
}

std::int64_t Splits::begin_at_receiver(std::int64_t from, std::int64_t to) const {
  auto before = std::int64_t{0};
  for (auto other = std::int64_t{0}; other < from; ++other) before += count(other, to);
  return before;
}

std::int64_t Splits::largest() const {
  auto most = std::int64_t{0};
  for (auto rank = std::int64_t{0}; rank < ranks_; ++rank) most = std::max({most, sent(rank), received(rank)});
  return most;
}

}  // namespace twinstep::collectives
