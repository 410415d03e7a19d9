#pragma once

#include <cstdint>
#include <span>

namespace twinstep::collectives {

/// How much every rank of an uneven all_to_all sends to every other one, as the experts of a mixture need it: a matrix
/// of ranks × ranks counts, row by row in the order of senders, that the caller owns and keeps. Elements where data is
/// moved (Schedule), bytes where it is costed (FoldRequest).
class Splits {
 public:
  /// No matrix: everyone sends equal parts to everyone.
  Splits() = default;
  /// Throws InputError unless there is a count for every pair, and none is negative.
  Splits(std::int64_t ranks, std::span<std::int64_t const> counts);

  [[nodiscard]] bool is_even() const { return counts_.empty(); }
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }

  /// What `from` sends to `to`; a rank keeps what it has for itself, without a message.
  [[nodiscard]] std::int64_t count(std::int64_t from, std::int64_t to) const {
    return counts_[static_cast<std::size_t>(from * ranks_ + to)];
  }
  /// Where that begins in the sender's buffer, which is in the order of receivers. Cost O(ranks), as of all below.
  [[nodiscard]] std::int64_t begin_at_sender(std::int64_t from, std::int64_t to) const;
  /// Where it begins in the receiver's buffer, which is in the order of senders.
  [[nodiscard]] std::int64_t begin_at_receiver(std::int64_t from, std::int64_t to) const;
  [[nodiscard]] std::int64_t sent(std::int64_t from) const { return begin_at_sender(from, ranks_); }
  [[nodiscard]] std::int64_t received(std::int64_t to) const { return begin_at_receiver(ranks_, to); }

  /// The most that a rank sends or receives, its own part included: the size that nccl-tests counts an uneven
  /// all_to_all by (NVIDIA/nccl-tests src/alltoallv.cu). Cost O(ranks²).
  [[nodiscard]] std::int64_t largest() const;

 private:
  std::int64_t ranks_ = 0;
  std::span<std::int64_t const> counts_;
};

}  // namespace twinstep::collectives
