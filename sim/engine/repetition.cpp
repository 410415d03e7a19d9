#include "sim/engine/repetition.hpp"

#include <algorithm>
#include <utility>

namespace twinstep::engine {

using namespace program;

namespace {

/// Looks through one cell: which of its micro-batches are alike, and whether its host is in their way.
class CellLook {
 public:
  CellLook(StepProgram const& program, CellRun const& run)
      : run_{run}, ranges_{micro_batches_of(program, *run.role)}, bound_(run.spans.size()) {
    find_bound();
  }

  [[nodiscard]] std::vector<MicroBatchRange> const& micro_batches() const { return ranges_; }
  [[nodiscard]] std::size_t first(std::size_t place) const {
    return place < ranges_.size() ? ranges_[place].operations : run_.spans.size();
  }
  [[nodiscard]] timeline::Span const& span(std::size_t op) const { return run_.spans[op]; }

  /// By how much the micro-batch behind `place` comes later: on the host, and on the device.
  struct Shift {
    Duration issue;
    Duration run;
    bool operator==(Shift const&) const = default;
  };
  [[nodiscard]] std::optional<Shift> shift_behind(std::size_t place) const {
    auto const count = first(place + 1) - first(place);
    if (first(place + 2) - first(place + 1) != count) return std::nullopt;
    auto const& one = span(first(place));
    auto const& next = span(first(place + 1));
    auto const shift = Shift{next.issue - one.issue, next.end - one.end};
    for (auto i = first(place); i < first(place + 1); ++i)
      if (!is_alike(i, i + count, shift)) return std::nullopt;
    return shift;
  }

  /// Whether the host waits for the device in operations of `first` to `end`.
  [[nodiscard]] bool has_waits(std::size_t first, std::size_t end) const {
    return std::any_of(run_.role->operations.begin() + static_cast<std::ptrdiff_t>(first),
                       run_.role->operations.begin() + static_cast<std::ptrdiff_t>(end),
                       [](Operation const& op) { return op.is_on_host(); });
  }
  /// Whether one of them began only when it was issued: earlier, had the host been faster.
  [[nodiscard]] bool waits_for_host(std::size_t first, std::size_t end) const {
    return std::any_of(bound_.begin() + static_cast<std::ptrdiff_t>(first),
                       bound_.begin() + static_cast<std::ptrdiff_t>(end), std::identity{});
  }
  /// The first operation of the host from `op` on; none if there is none.
  [[nodiscard]] OpId next_wait(std::size_t op) const {
    for (; op < run_.spans.size(); ++op)
      if (run_.role->operations[op].is_on_host()) return OpId{op};
    return {};
  }
  /// Whether what a host operation waited for last is an operation from `first` on.
  [[nodiscard]] bool waits_for_device(OpId id, std::size_t first) const {
    auto const& op = run_.role->operations[id.index()];
    return std::ranges::any_of(run_.role->waits_of(op), [&](OpId wait) {
      return wait.index() >= first && span(wait.index()).end == span(id.index()).arrive;
    });
  }

  /// When the first operation on a stream of a micro-batch begins.
  [[nodiscard]] Time beginning(std::size_t place) const {
    auto op = first(place);
    while (op < first(place + 1) && run_.role->operations[op].is_on_host()) ++op;
    return op < first(place + 1) ? span(op).start : kNever;
  }
  [[nodiscard]] Time last_end(std::size_t end) const {
    auto last = Time{};
    for (std::size_t i = 0; i < end; ++i) last = std::max(last, span(i).end);
    return last;
  }
  [[nodiscard]] Time first_arrival(std::size_t first, std::size_t end) const {
    auto earliest = kNever;
    for (auto i = first; i < end; ++i) earliest = std::min(earliest, span(i).arrive);
    return earliest;
  }

 private:
  void find_bound() {
    auto last_end = std::vector<Time>(run_.role->streams.size());
    for (std::size_t i = 0; i < run_.spans.size(); ++i) {
      auto const& op = run_.role->operations[i];
      if (op.is_on_host()) continue;
      auto ready = std::exchange(last_end[op.stream.index()], span(i).end);
      for (auto const wait : run_.role->waits_of(op)) ready = std::max(ready, span(wait.index()).end);
      bound_[i] = span(i).issue > ready;
    }
  }

  [[nodiscard]] bool is_alike(std::size_t i, std::size_t j, Shift const& shift) const {
    auto const& [one, next] = std::pair{&span(i), &span(j)};
    auto const runs = std::pair{one->end + shift.run, one->start + shift.run};
    if (one->stream != next->stream || one->name != next->name || one->kind != next->kind || one->bytes != next->bytes)
      return false;
    if (next->issue != one->issue + shift.issue || next->arrive != one->arrive + shift.run) return false;
    if (std::pair{next->end, next->start} != runs || bound_[i] != bound_[j]) return false;
    auto const& role = *run_.role;
    return std::ranges::equal(role.waits_of(role.operations[i]), role.waits_of(role.operations[j]),
                              [&](OpId a, OpId b) { return a == b || a.index() + (j - i) == b.index(); });
  }

  CellRun run_;
  std::vector<MicroBatchRange> ranges_;
  std::vector<bool> bound_;  // by operation: the host was what it waited for last
};

class Finder {
 public:
  Finder(StepProgram const& program, std::span<CellRun const> cells) : times_{program.repeat->times} {
    for (auto const& cell : cells) looks_.emplace_back(program, cell);
    auto const& written = looks_.front().micro_batches();
    auto const found = std::ranges::find(written, program.repeat->micro_batch, &MicroBatchRange::micro_batch);
    place_ = static_cast<std::size_t>(found - written.begin());
    count_ = written.size();
  }

  std::optional<Repetition> find() {
    out_.place = place_;
    out_.times = times_;
    if (!find_alike() || !find_hosts() || !find_steady()) return std::nullopt;
    for (auto const& look : looks_) out_.micro_batches.push_back(look.micro_batches());
    return std::move(out_);
  }

 private:
  using Shift = CellLook::Shift;

  /// The shifts of all cells behind a place, if each has one and that of their devices is the same.
  [[nodiscard]] std::optional<std::vector<Shift>> shifts_behind(std::size_t place) const {
    auto shifts = std::vector<Shift>{};
    for (auto const& look : looks_) {
      auto const shift = look.shift_behind(place);
      if (!shift || shift->run <= Duration{} || shift->run != out_.period) return std::nullopt;
      shifts.push_back(*shift);
    }
    return shifts;
  }

  /// Which micro-batches around the one that stands for others are alike. The last one never is: it has the update
  /// behind it.
  bool find_alike() {
    auto const first = looks_.front().shift_behind(place_);
    if (place_ == 0 || place_ + 2 >= count_ || !first) return false;
    out_.period = first->run;
    auto const shifts = shifts_behind(place_);
    if (!shifts) return false;
    shifts_ = *shifts;
    out_.last_alike = place_ + 1;
    while (out_.last_alike + 2 < count_ && shifts_behind(out_.last_alike) == shifts_) ++out_.last_alike;
    out_.first_alike = place_;
    while (out_.first_alike > 0 && shifts_behind(out_.first_alike - 1) == shifts_) --out_.first_alike;
    return out_.first_alike + 1 < place_;
  }

  bool find_hosts() {
    for (std::size_t c = 0; c < looks_.size(); ++c) {
      auto const& look = looks_[c];
      auto& host = out_.hosts.emplace_back(Repetition::Host{shifts_[c].issue, {}});
      if (host.period > out_.period) return false;
      if (host.runs_ahead(out_) && !stays_ahead(look, host)) return false;
    }
    return true;
  }

  /// A host that gets further and further ahead must not be waited for, neither now nor when it is even further; it may
  /// wait for the device in the end.
  [[nodiscard]] bool stays_ahead(CellLook const& look, Repetition::Host& host) const {
    auto const first = look.first(out_.first_alike);
    auto const behind = look.first(out_.last_alike + 1);
    if (look.has_waits(first, behind)) return false;
    host.waits_from = look.next_wait(behind);
    auto const end = host.waits_from.exists() ? host.waits_from.index() : look.first(count_);
    if (look.waits_for_host(first, end)) return false;
    return !host.waits_from.exists() || look.waits_for_device(host.waits_from, look.first(place_ + 1));
  }

  /// A moment before anything has begun that is not alike, a period before which nothing ran any more that is not.
  bool find_steady() {
    auto until = kNever;
    auto settled = Time{};     // when all has ended before those that are alike
    auto first_over = Time{};  // when the first of these has ended too
    auto second = kNever;      // when the second begins
    auto const a = out_.first_alike;
    auto const c = out_.last_alike;
    for (auto const& look : looks_) {
      auto const behind = look.first(c + 1);
      until = std::min(until, look.first_arrival(behind, look.first(count_)));
      until = std::min(until, look.first_arrival(look.first(c), behind) + out_.period);
      if (look.has_waits(look.first(a), behind))
        until = std::min({until, look.span(behind).issue, look.span(look.first(c)).issue + out_.period});
      settled = std::max(settled, look.last_end(look.first(a)));
      first_over = std::max(first_over, look.last_end(look.first(a + 1)));
      second = std::min(second, look.first_arrival(look.first(a + 1), look.first(a + 2)));
    }
    out_.steady_from = until - out_.period * 2;
    auto const counted_until = looks_.front().beginning(out_.counted() + 1);
    return counted_until <= until && settled <= out_.steady_from && settled <= second &&
           first_over <= until - out_.period;
  }

  std::int64_t times_;
  std::vector<CellLook> looks_;
  std::vector<Shift> shifts_;  // by cell
  std::size_t place_ = 0;
  std::size_t count_ = 0;  // micro-batches that are written
  Repetition out_;
};

}  // namespace

std::vector<OpId> beginnings_of(StepProgram const& program, Role const& role) {
  auto beginnings = std::vector<OpId>{};
  for (auto const& range : micro_batches_of(program, role)) {
    auto op = range.operations;
    while (op + 1 < role.operations.size() && role.operations[op].is_on_host()) ++op;
    beginnings.emplace_back(op);
  }
  return beginnings;
}

Duration Repetition::delay_of_issue(std::size_t cell, OpId op) const {
  if (op < first_behind(cell)) return {};
  auto const& host = hosts[cell];
  auto const has_waited = host.waits_from.exists() && op > host.waits_from;
  return (has_waited ? period : host.period) * times;
}

std::optional<Repetition> find_repetition(StepProgram const& program, std::span<CellRun const> cells) {
  return Finder{program, cells}.find();
}

}  // namespace twinstep::engine
