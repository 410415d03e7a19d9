#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/program/step_program.hpp"

namespace twinstep::program {

/// What comes before what in one role: the next operation on a stream, a wait, and a host operation, which everything
/// issued later comes after.
///
/// A vector clock says for each lane (a stream, or the host) how many of its operations have ended before an operation
/// starts. It is the maximum over the operation before it on its lane, what it waits for, and what the host had waited
/// for when it issued it; operations of one lane for which nothing changes share one. Vector clocks: Mattern, "Virtual
/// Time and Global States of Distributed Systems", 1989.
class Order {
 public:
  /// Requires a role without defects. Cost: its operations, plus its waits and host operations times its lanes.
  explicit Order(Role const& role);

  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  [[nodiscard]] std::size_t lane(OpId op) const { return ops_[op.index()].lane; }
  /// Whether `first` has ended when `second` starts. Requires that `first` was issued earlier.
  [[nodiscard]] bool is_before(OpId first, OpId second) const {
    auto const [lane, position, clock] = ops_[first.index()];
    auto const& later = ops_[second.index()];
    return later.lane == lane || clocks_[later.clock + lane] > position;
  }

 private:
  struct Op {
    std::uint32_t lane = 0;
    std::uint32_t position = 0;  ///< among the operations of its lane
    std::size_t clock = 0;       ///< where its clock begins
  };

  [[nodiscard]] std::span<std::uint32_t> clock(std::size_t begin) { return std::span{clocks_}.subspan(begin, lanes_); }
  std::size_t copy_clock(std::size_t begin);
  void come_after(std::size_t clock, OpId op);

  std::size_t lanes_;
  std::vector<Op> ops_;
  std::vector<std::uint32_t> clocks_;  ///< one after another; what a clock says of its own lane counts for nothing
};

}  // namespace twinstep::program
