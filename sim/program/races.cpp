#include "sim/program/races.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "sim/program/role_ranks.hpp"

namespace twinstep::program {
namespace {

/// What comes before what in one role.
///
/// Every operation carries a vector clock: for each stream (the host is one more) how many of its operations have
/// ended before this one starts. It is the maximum over the operation before it on its stream, what it waits for, and
/// what the host had waited for when it issued it. Vector clocks: Mattern, "Virtual Time and Global States of
/// Distributed Systems", 1989.
class Order {
 public:
  explicit Order(Role const& role) : lanes_{role.streams.size() + 1}, clock_(lanes_ * role.operations.size()) {
    auto issued = std::vector<std::uint32_t>(lanes_);         // what the host has waited for
    auto last = std::vector<std::uint32_t>(lanes_ * lanes_);  // by lane: the clock after its last operation
    auto position = std::vector<std::uint32_t>(lanes_);       // by lane: operations so far
    position_.resize(role.operations.size());
    lane_.resize(role.operations.size());
    for (std::size_t i = 0; i < role.operations.size(); ++i) {
      auto const& op = role.operations[i];
      lane_[i] = static_cast<std::uint32_t>(op.is_on_host() ? lanes_ - 1 : op.stream.index());
      auto const clock = std::span{clock_}.subspan(i * lanes_, lanes_);
      auto const before = std::span{last}.subspan(lane_[i] * lanes_, lanes_);
      take_maximum(clock, issued);
      take_maximum(clock, before);
      for (auto const wait : role.waits_of(op)) {
        take_maximum(clock, clock_of(wait));
        clock[lane(wait)] = std::max(clock[lane(wait)], position_[wait.index()] + 1);
      }
      position_[i] = position[lane_[i]]++;
      std::ranges::copy(clock, before.begin());
      before[lane_[i]] = position_[i] + 1;
      if (op.is_on_host()) std::ranges::copy(before, issued.begin());
    }
  }

  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  [[nodiscard]] std::size_t lane(OpId op) const { return lane_[op.index()]; }
  /// Whether `first` has ended when `second` starts. Requires that `first` was issued earlier.
  [[nodiscard]] bool is_before(OpId first, OpId second) const {
    return clock_[second.index() * lanes_ + lane(first)] > position_[first.index()];
  }

 private:
  std::span<std::uint32_t const> clock_of(OpId op) const {
    return std::span{clock_}.subspan(op.index() * lanes_, lanes_);
  }
  static void take_maximum(std::span<std::uint32_t> clock, std::span<std::uint32_t const> other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  std::size_t lanes_;
  std::vector<std::uint32_t> clock_;  // by operation and lane
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> lane_;
};

/// One access to a buffer, in order of issue.
struct Touch {
  OpId op;
  Access const* access = nullptr;
};

/// An access on one rank.
struct Interval {
  OpId op;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool reads = false;
  bool writes = false;
};

class RaceSearch {
 public:
  RaceSearch(StepProgram const& program, Role const& role, std::vector<std::string>& findings)
      : program_{program}, role_{role}, order_{role}, findings_{findings} {}

  void run();

 private:
  void search(BufferId buffer, std::span<Touch const> touches);
  void sweep(BufferId buffer, std::vector<Interval> const& intervals);
  void report(BufferId buffer, OpId first, bool first_writes, Interval const& second);

  StepProgram const& program_;
  Role const& role_;
  Order order_;
  std::vector<std::string>& findings_;
  std::set<std::pair<OpId, OpId>> reported_;  // of the buffer in hand
  std::vector<std::int64_t> cuts_;
  std::vector<OpId> last_;
};

void RaceSearch::run() {
  auto touches = std::vector<std::vector<Touch>>(role_.buffers.size());
  for (std::size_t i = 0; i < role_.operations.size(); ++i)
    for (auto const& access : role_.accesses_of(role_.operations[i]))
      touches[access.region.buffer.index()].push_back({OpId{i}, &access});
  for (std::size_t i = 0; i < touches.size(); ++i) {
    reported_.clear();
    search(BufferId{i}, touches[i]);
  }
}

/// Sweeps one buffer on every rank that shows how its regions can lie.
void RaceSearch::search(BufferId buffer, std::span<Touch const> touches) {
  auto axes = AxisSet{};
  for (auto const& [op, access] : touches)
    for (auto const value : {access->region.offset, access->region.elements})
      axes = axes.united_with(axes_of(program_, value));
  axes = free_axes(program_, role_, axes);
  constexpr std::int64_t kMostRanks = 8;
  auto const places = program_.mesh.size(axes);
  auto const looked_at = std::min(places, kMostRanks);
  auto intervals = std::vector<Interval>(touches.size());
  for (std::int64_t i = 0; i < looked_at; ++i) {
    auto const place = looked_at == 1 ? 0 : i * (places - 1) / (looked_at - 1);
    auto const rank = program_.mesh.rank_in_group(lowest_rank(program_, role_), axes, place);
    for (std::size_t t = 0; t < touches.size(); ++t) {
      auto const& [region, mode] = *touches[t].access;
      auto const begin = program_.evaluate(region.offset, rank);
      intervals[t] = {touches[t].op, begin, begin + program_.evaluate(region.elements, rank),
                      mode != AccessMode::kWrite, mode != AccessMode::kRead};
    }
    sweep(buffer, intervals);
  }
}

/// Finds the races among accesses to one buffer.
///
/// The ends of all intervals cut the buffer into pieces that no access splits. Go through the accesses in order of
/// issue and remember for every piece and lane the last operation that read it and the last that wrote it. A new access
/// needs to be compared with those only: an earlier one on the same lane comes before the last one, so whatever comes
/// after the last one comes after it too. (Shadow state as in FastTrack, Flanagan and Freund, PLDI 2009.)
void RaceSearch::sweep(BufferId buffer, std::vector<Interval> const& intervals) {
  cuts_.clear();
  for (auto const& interval : intervals) cuts_.insert(cuts_.end(), {interval.begin, interval.end});
  std::ranges::sort(cuts_);
  cuts_.erase(std::ranges::unique(cuts_).begin(), cuts_.end());
  auto const lanes = order_.lanes();
  last_.assign(cuts_.size() * 2 * lanes, OpId{});  // by piece, then reads and writes, then lane
  auto const piece_at = [&](std::int64_t offset) {
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts_, offset) - cuts_.begin());
  };
  for (auto const& interval : intervals) {
    auto const lane = order_.lane(interval.op);
    auto const last_piece = piece_at(interval.end);
    for (auto piece = piece_at(interval.begin); piece < last_piece; ++piece) {
      auto const last_reads = std::span{last_}.subspan(piece * 2 * lanes, lanes);
      auto const last_writes = std::span{last_}.subspan((piece * 2 + 1) * lanes, lanes);
      for (std::size_t other = 0; other < lanes; ++other) {
        if (other == lane) continue;
        auto const is_free = [&](OpId op) { return op.exists() && !order_.is_before(op, interval.op); };
        if (is_free(last_writes[other]))
          report(buffer, last_writes[other], true, interval);
        else if (interval.writes && is_free(last_reads[other]))
          report(buffer, last_reads[other], false, interval);
      }
      if (interval.reads) last_reads[lane] = interval.op;
      if (interval.writes) last_writes[lane] = interval.op;
    }
  }
}

void RaceSearch::report(BufferId buffer, OpId first, bool first_writes, Interval const& second) {
  if (!reported_.insert({first, second.op}).second) return;
  auto const& op = role_.operations[first.index()];
  auto const& later = role_.operations[second.op.index()];
  auto const stream_of = [&](Operation const& o) {
    return o.is_on_host() ? std::string_view{"the host"} : program_.text(role_.streams[o.stream.index()].name);
  };
  findings_.push_back(fmt::format(
      "role \"{}\": {} (op {}, {}) {} buffer \"{}\" while {} (op {}, {}) {} its elements [{}, {}): nothing orders them",
      program_.text(role_.name), program_.describe(op), first.index(), stream_of(op), first_writes ? "writes" : "reads",
      program_.text(role_.buffers[buffer.index()].name), program_.describe(later), second.op.index(), stream_of(later),
      second.writes ? "writes" : "reads", second.begin, second.end));
}

}  // namespace

std::vector<std::string> find_races(StepProgram const& program) {
  auto findings = std::vector<std::string>{};
  for (auto const& role : program.roles) RaceSearch{program, role, findings}.run();
  return findings;
}

}  // namespace twinstep::program
