#include <algorithm>

#include "sim/engine/step.hpp"

namespace twinstep::engine {

using namespace program;

void Step::count_at_beginning(OpId op) {
  auto const found = std::ranges::find(beginnings_, op);
  if (found == beginnings_.end()) return;
  counts_[static_cast<std::size_t>(found - beginnings_.begin())] = {clock_.event_count(), carried()};
}

std::optional<timeline::Timeline> Step::folded_timeline() && {
  auto const repetition = find_repetition(program_, cell_runs());
  if (!repetition) return std::nullopt;
  auto out = timeline::Timeline{};
  write_facts(out);
  for (std::size_t c = 0; c < states_.size(); ++c)
    if (!ledgers_[c].append_to(out, spans_of(states_[c]), options_.replays_allocator, *repetition)) return std::nullopt;
  write_spans(*repetition, out);
  write_sums(*repetition, out);
  out.repeat =
      timeline::Repeat{program_.repeat->micro_batch, repetition->times, repetition->period, repetition->steady_from};
  return out;
}

std::vector<CellRun> Step::cell_runs() const {
  auto runs = std::vector<CellRun>{};
  for (auto const& cell : states_) runs.push_back({cell.role, spans_of(cell)});
  return runs;
}

/// What lies behind the micro-batches that are left out comes later than it did.
void Step::write_spans(Repetition const& repetition, timeline::Timeline& out) {
  out.spans = std::move(spans_);
  for (auto& span : out.spans) {
    auto const delay = repetition.delay_of_run(span.track.index(), span.op);
    span.issue += repetition.delay_of_issue(span.track.index(), span.op);
    span.arrive += delay;
    span.start += delay;
    span.end += delay;
    out.step_time = std::max(out.step_time, span.end);
  }
}

void Step::write_sums(Repetition const& repetition, timeline::Timeline& out) const {
  auto const times = repetition.times;
  auto const& before = counts_[repetition.counted()];
  auto const& after = counts_[repetition.counted() + 1];
  out.events = clock_.event_count() + (after.events - before.events) * times;
  auto carried = this->carried();
  for (std::size_t r = 0; r < carried.size(); ++r)
    carried[r] += (after.carried[r] - before.carried[r]) * static_cast<double>(times);
  out.links = link_traffic(carried);
  for (std::uint32_t t = 0; t < transfers_.size(); ++t) {
    auto const& transfer = transfers_.at(t);
    if (!transfer.has_started()) continue;
    auto const& [cell, op, part] = transfer.meeting.participants.front();
    auto const& first = repetition.micro_batches[cell.index()][repetition.place].operations;
    auto const is_repeated = op.index() >= first && op < repetition.first_behind(cell.index());
    auto const& folded = transfers_.folded(transfer);
    auto const count = is_repeated ? 1 + times : 1;
    out.wire.intra += TotalBytes{folded.intra * transfer.groups} * count;
    out.wire.inter += TotalBytes{folded.inter * transfer.groups} * count;
  }
}

}  // namespace twinstep::engine
