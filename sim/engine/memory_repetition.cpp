#include "sim/engine/memory_repetition.hpp"

#include <algorithm>
#include <array>

namespace twinstep::engine {

using namespace program;

namespace {

using enum BufferEvent::Kind;

class Repeater {
 public:
  Repeater(Role const& role, std::span<Bytes const> sizes, Repetition const& repetition, std::size_t cell,
           std::vector<BufferEvent>& events)
      : role_{role},
        sizes_{sizes},
        repetition_{repetition},
        cell_{cell},
        host_{repetition.hosts[cell]},
        events_{events} {}

  std::optional<RepeatedEvents> repeat() {
    auto const place = repetition_.place;
    auto const found = RepeatedEvents{repetition_.times, begin_of(place - 1), begin_of(place), begin_of(place + 1),
                                      begin_of(place + 2)};
    if (!are_alike(found.before, found.first, found.behind) || !are_alike(found.first, found.behind, found.end))
      return std::nullopt;
    if (!leaves_nothing(found) || !move_behind(found)) return std::nullopt;
    return found;
  }

 private:
  [[nodiscard]] Buffer const& buffer(BufferEvent const& event) const { return role_.buffers[event.buffer]; }
  /// Whether it happens when an operation ends, rather than when the host issues it.
  [[nodiscard]] bool is_of_device(BufferEvent const& event) const {
    return event.kind == kGivenBack && buffer(event).returns_late();
  }
  [[nodiscard]] OpId operation(BufferEvent const& event) const {
    return event.kind == kTaken ? buffer(event).first_use : buffer(event).last_use;
  }

  /// Where the host comes to a micro-batch.
  [[nodiscard]] std::size_t begin_of(std::size_t place) const {
    auto const first = OpId{repetition_.micro_batches[cell_][place].operations};
    auto const found = std::ranges::find_if(
        events_, [&](BufferEvent const& event) { return !is_of_device(event) && operation(event) >= first; });
    return static_cast<std::size_t>(found - events_.begin());
  }

  /// Whether the events up to `behind` are like those from there on.
  [[nodiscard]] bool are_alike(std::size_t first, std::size_t behind, std::size_t end) const {
    auto const all = std::span{std::as_const(events_)};
    return std::ranges::equal(all.subspan(first, behind - first), all.subspan(behind, end - behind),
                              [this](BufferEvent const& one, BufferEvent const& next) { return is_alike(one, next); });
  }
  [[nodiscard]] bool is_alike(BufferEvent const& one, BufferEvent const& next) const {
    auto const& a = buffer(one);
    auto const& b = buffer(next);
    auto const own = repetition_.end_of_buffers(cell_) - repetition_.first_buffer(cell_);
    if (next.buffer != one.buffer && next.buffer != one.buffer + own) return false;
    if (one.kind != next.kind || next.time - one.time != host_.period) return false;
    if (is_of_device(one) && host_.runs_ahead(repetition_)) return false;
    return sizes_[one.buffer] == sizes_[next.buffer] && a.category == b.category && a.space == b.space &&
           a.returns_late() == b.returns_late();
  }

  [[nodiscard]] bool leaves_nothing(RepeatedEvents const& repeated) const {
    auto sums = std::array<std::array<Bytes, kEnumSize<MemoryCategory>>, kEnumSize<MemorySpace>>{};
    for (auto i = repeated.first; i < repeated.behind; ++i) {
      auto const& event = events_[i];
      auto& sum = sums[static_cast<std::size_t>(buffer(event).space)][static_cast<std::size_t>(buffer(event).category)];
      if (event.kind == kTaken) sum += sizes_[event.buffer];
      if (event.kind == kGivenBack) sum -= sizes_[event.buffer];
    }
    return sums == decltype(sums){};
  }

  /// What ends behind must be alike too, or belong behind; and where the host runs ahead, it must be behind already.
  bool move_behind(RepeatedEvents const& repeated) {
    auto const runs_ahead = host_.runs_ahead(repetition_);
    auto const place = runs_ahead ? repetition_.place + 1 : repetition_.first_alike;
    auto const first = OpId{repetition_.micro_batches[cell_][place].operations};
    auto before = BufferEvent{};
    auto was_of_device = false;
    for (auto i = repeated.behind; i < events_.size(); ++i) {
      auto& event = events_[i];
      auto const ends = is_of_device(event);
      if (ends && operation(event) < first) return false;
      event.time += ends ? repetition_.period * repetition_.times : repetition_.delay_of_issue(cell_, operation(event));
      if (event.time < before.time || (event.time == before.time && was_of_device && !ends)) return false;
      before = event;
      was_of_device = ends;
    }
    return true;
  }

  Role const& role_;
  std::span<Bytes const> sizes_;
  Repetition const& repetition_;
  std::size_t cell_;
  Repetition::Host const& host_;
  std::vector<BufferEvent>& events_;
};

}  // namespace

std::optional<RepeatedEvents> repeat_events(Role const& role, std::span<Bytes const> sizes,
                                            Repetition const& repetition, std::size_t cell,
                                            std::vector<BufferEvent>& events) {
  return Repeater{role, sizes, repetition, cell, events}.repeat();
}

}  // namespace twinstep::engine
