#include "sim/program/order.hpp"

namespace twinstep::program {

Order::Order(Role const& role) : lanes_{role.streams.size() + 1}, clocks_(lanes_) {
  struct Lane {
    std::uint32_t operations = 0;
    std::size_t clock = 0;  // of its last operation
    OpId issued_after;      // the host operation before its last one
  };
  auto lanes = std::vector<Lane>(lanes_);
  auto last_on_host = OpId{};
  ops_.reserve(role.operations.size());
  for (auto const& op : role.operations) {
    auto const number = op.is_on_host() ? lanes_ - 1 : op.stream.index();
    auto& lane = lanes[number];
    auto const waits = role.waits_of(op);
    auto const is_after_host = !op.is_on_host() && lane.issued_after != last_on_host;
    if (is_after_host || !waits.empty()) lane.clock = copy_clock(lane.clock);
    if (is_after_host) come_after(lane.clock, last_on_host);
    for (auto const wait : waits) come_after(lane.clock, wait);
    if (op.is_on_host()) last_on_host = OpId{ops_.size()};
    ops_.push_back({static_cast<std::uint32_t>(number), lane.operations++, lane.clock});
    lane.issued_after = last_on_host;
  }
}

std::size_t Order::copy_clock(std::size_t begin) {
  auto const copy = clocks_.size();
  clocks_.resize(copy + lanes_);
  std::ranges::copy(clock(begin), clock(copy).begin());
  return copy;
}

/// What holds the clock comes after `op` and after all that `op` comes after.
void Order::come_after(std::size_t begin, OpId op) {
  auto const& [lane, position, earlier] = ops_[op.index()];
  auto const mine = clock(begin);
  auto const its = clock(earlier);
  for (std::size_t i = 0; i < lanes_; ++i) mine[i] = std::max(mine[i], its[i]);
  mine[lane] = std::max(mine[lane], position + 1);
}

}  // namespace twinstep::program
