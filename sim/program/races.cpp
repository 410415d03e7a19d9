#include "sim/program/races.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "sim/program/order.hpp"
#include "sim/program/role_ranks.hpp"

namespace twinstep::program {
namespace {

/// One access to a buffer, in order of issue.
struct Touch {
  OpId op;
  Access const* access = nullptr;
};

/// A stretch of a buffer's elements.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What an access touches on one rank, or on any.
struct Interval {
  Touch touch;
  Span span;
};

class RaceSearch {
 public:
  RaceSearch(StepProgram const& program, Role const& role, std::vector<std::string>& findings)
      : program_{program}, role_{role}, order_{role}, findings_{findings} {}

  void run();

 private:
  [[nodiscard]] bool are_ordered(std::span<Touch const> touches);
  [[nodiscard]] bool are_ordered_wherever(std::span<Touch const> touches);
  void search(BufferId buffer, std::span<Touch const> touches);
  void collect(std::span<Touch const> touches, RankId rank);
  template <class OnRace>
  void sweep(OnRace const& on_race);
  void forget(std::size_t pieces) { last_.assign(pieces * order_.lanes(), {}); }
  template <class OnRace>
  void touch(std::size_t piece, OpId op, AccessMode mode, OnRace const& on_race);
  void report(BufferId buffer, OpId first, bool first_writes, Interval const& second);

  /// The last operation of a lane that read a piece of the buffer in hand, and the last that wrote it.
  struct Last {
    OpId read;
    OpId write;
  };

  StepProgram const& program_;
  Role const& role_;
  Order order_;
  std::vector<std::string>& findings_;
  std::set<std::pair<OpId, OpId>> reported_;  // of the buffer in hand
  std::vector<Interval> intervals_;
  std::vector<std::int64_t> cuts_;
  std::vector<Last> last_;  // by piece and lane
};

/// Operations of one stream cannot race, so only buffers that several touch are looked at: first as a whole, then with
/// what an access touches on any rank. That is most often enough to see that there is no race.
void RaceSearch::run() {
  auto touches = std::vector<std::vector<Touch>>(role_.buffers.size());
  for (std::size_t i = 0; i < role_.operations.size(); ++i)
    for (auto const& access : role_.accesses_of(role_.operations[i]))
      if (auto const buffer = access.region.buffer.index(); role_.buffers[buffer].crosses_streams)
        touches[buffer].push_back({OpId{i}, &access});
  for (std::size_t i = 0; i < touches.size(); ++i)
    if (!are_ordered(touches[i]) && !are_ordered_wherever(touches[i])) search(BufferId{i}, touches[i]);
}

/// Whether there would be no race even if every access touched the whole buffer.
bool RaceSearch::are_ordered(std::span<Touch const> touches) {
  auto are_ordered = true;
  forget(1);
  for (auto const& [op, access] : touches) touch(0, op, access->mode, [&](OpId, bool) { are_ordered = false; });
  return are_ordered;
}

/// The least and the greatest that `value` is on any rank.
Span range_of(StepProgram const& program, RankValue value) {
  if (!value.varies()) return {value.base, value.base};
  auto const& [along, stride, table] = program.variations[value.variation.index()];
  auto const far = stride * (program.grids.size(along) - 1);
  auto const [least, greatest] = table.empty() ? std::pair{std::int64_t{0}, std::int64_t{0}}
                                               : std::pair{std::ranges::min(table), std::ranges::max(table)};
  return {value.base + std::min<std::int64_t>(far, 0) + least, value.base + std::max<std::int64_t>(far, 0) + greatest};
}

/// Whether there would be no race even if every access touched on every rank what it touches on any.
bool RaceSearch::are_ordered_wherever(std::span<Touch const> touches) {
  intervals_.clear();
  for (auto const& touch : touches) {
    auto const offsets = range_of(program_, touch.access->region.offset);
    auto const elements = range_of(program_, touch.access->region.elements);
    intervals_.push_back({touch, {offsets.begin, offsets.end + elements.end}});
  }
  auto are_ordered = true;
  sweep([&](OpId, bool, Interval const&) { are_ordered = false; });
  return are_ordered;
}

/// Sweeps one buffer on every rank that shows how its regions can lie.
void RaceSearch::search(BufferId buffer, std::span<Touch const> touches) {
  reported_.clear();
  auto axes = AxisSet{};
  for (auto const& [op, access] : touches)
    for (auto const value : {access->region.offset, access->region.elements})
      axes = axes.united_with(axes_of(program_, value));
  axes = free_axes(program_, role_, axes);
  constexpr std::int64_t kMostRanks = 8;
  auto const& grid = program_.grids.common();
  auto const places = grid.size(axes);
  auto const looked_at = std::min(places, kMostRanks);
  for (std::int64_t i = 0; i < looked_at; ++i) {
    auto const place = looked_at == 1 ? 0 : i * (places - 1) / (looked_at - 1);
    auto const rank = grid.rank_in_group(lowest_rank(program_, role_), axes, place);
    if (!program_.plays(role_, rank)) continue;
    collect(touches, rank);
    sweep([&](OpId first, bool writes, Interval const& second) { report(buffer, first, writes, second); });
  }
}

void RaceSearch::collect(std::span<Touch const> touches, RankId rank) {
  intervals_.clear();
  for (auto const& touch : touches) {
    auto const& region = touch.access->region;
    auto const begin = program_.evaluate(region.offset, rank);
    intervals_.push_back({touch, {begin, begin + program_.evaluate(region.elements, rank)}});
  }
}

/// Finds the races among accesses to one buffer: the ends of all intervals cut it into pieces that no access splits.
template <class OnRace>
void RaceSearch::sweep(OnRace const& on_race) {
  cuts_.clear();
  for (auto const& interval : intervals_) cuts_.insert(cuts_.end(), {interval.span.begin, interval.span.end});
  std::ranges::sort(cuts_);
  cuts_.erase(std::ranges::unique(cuts_).begin(), cuts_.end());
  forget(cuts_.size());
  auto const piece_at = [&](std::int64_t offset) {
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts_, offset) - cuts_.begin());
  };
  for (auto const& interval : intervals_) {
    auto const say = [&](OpId first, bool writes) { on_race(first, writes, interval); };
    auto const last_piece = piece_at(interval.span.end);
    for (auto piece = piece_at(interval.span.begin); piece < last_piece; ++piece)
      touch(piece, interval.touch.op, interval.touch.access->mode, say);
  }
}

/// Calls `on_race(earlier, writes)` for the earlier accesses to a piece that the new one races with.
///
/// It is compared with the last operation of every other lane that read the piece and the last that wrote it: an
/// earlier one on the same lane comes before the last one, so whatever comes after the last one comes after it too.
/// (Shadow state as in FastTrack, Flanagan and Freund, PLDI 2009.)
template <class OnRace>
void RaceSearch::touch(std::size_t piece, OpId op, AccessMode mode, OnRace const& on_race) {
  auto const last = std::span{last_}.subspan(piece * order_.lanes(), order_.lanes());
  auto const is_free = [&](OpId earlier) { return earlier.exists() && !order_.is_before(earlier, op); };
  for (auto const& [read, write] : last) {
    if (is_free(write))
      on_race(write, true);
    else if (mode != AccessMode::kRead && is_free(read))
      on_race(read, false);
  }
  auto& mine = last[order_.lane(op)];
  if (mode != AccessMode::kWrite) mine.read = op;
  if (mode != AccessMode::kRead) mine.write = op;
}

void RaceSearch::report(BufferId buffer, OpId first, bool first_writes, Interval const& second) {
  auto const [by, access] = second.touch;
  if (!reported_.insert({first, by}).second) return;
  auto const& op = role_.operations[first.index()];
  auto const& later = role_.operations[by.index()];
  auto const stream_of = [&](Operation const& o) {
    return o.is_on_host() ? std::string_view{"the host"} : program_.text(role_.streams[o.stream.index()].name);
  };
  findings_.push_back(fmt::format(
      "role \"{}\": {} (op {}, {}) {} buffer \"{}\" while {} (op {}, {}) {} its elements [{}, {}): nothing orders them",
      program_.text(role_.name), program_.describe(op), first.index(), stream_of(op), first_writes ? "writes" : "reads",
      program_.text(role_.buffers[buffer.index()].name), program_.describe(later), by.index(), stream_of(later),
      access->mode != AccessMode::kRead ? "writes" : "reads", second.span.begin, second.span.end));
}

}  // namespace

std::vector<std::string> find_races(StepProgram const& program) {
  auto findings = std::vector<std::string>{};
  for (auto const& role : program.roles) RaceSearch{program, role, findings}.run();
  return findings;
}

}  // namespace twinstep::program
