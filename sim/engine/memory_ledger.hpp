#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/allocator_replay.hpp"
#include "sim/engine/machine.hpp"
#include "sim/engine/repetition.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// Which buffers the operations of a role take and give back: the same for all of its ranks.
class BuffersOfRole {
 public:
  explicit BuffersOfRole(program::Role const& role);

  /// What the host does when it issues an operation.
  template <class Visit>
  void for_each_at_issue(OpId op, Visit&& visit) const {
    taken_.for_each(op, [&](std::uint32_t buffer) { visit(buffer, BufferEvent::Kind::kTaken); });
    given_back_at_issue_.for_each(op, [&](std::uint32_t buffer) { visit(buffer, BufferEvent::Kind::kGivenBack); });
    given_back_at_end_.for_each(op, [&](std::uint32_t buffer) { visit(buffer, BufferEvent::Kind::kLetGo); });
  }
  /// What is given back when an operation ends.
  template <class Visit>
  void for_each_at_end(OpId op, Visit&& visit) const {
    given_back_at_end_.for_each(op, visit);
  }

 private:
  /// Lists of buffers, one list for each operation.
  class Lists {
   public:
    Lists(std::size_t operations, std::size_t buffers) : first_(operations, kNone), next_(buffers, kNone) {}
    void add(OpId op, std::size_t buffer);
    template <class Visit>
    void for_each(OpId op, Visit&& visit) const {
      for (auto buffer = first_[op.index()]; buffer != kNone; buffer = next_[buffer]) visit(buffer);
    }

   private:
    static constexpr std::uint32_t kNone = 0xffff'ffff;
    std::vector<std::uint32_t> first_;  // by operation
    std::vector<std::uint32_t> next_;   // by buffer
  };

  Lists taken_;
  Lists given_back_at_issue_;  // of the last operation that touches them
  Lists given_back_at_end_;
};

/// The memory of one track over time, by the host-time rule of PyTorch's caching allocator: a buffer is allocated when
/// the host issues the first operation that touches it, and given back when the host has issued the last one; if
/// several streams touched it, when that last operation has ended (its block waits for an event).
class MemoryLedger {
 public:
  MemoryLedger(program::StepProgram const& program, program::Role const& role, BuffersOfRole const& buffers,
               RankId rank, timeline::TrackId track, Machine const& machine)
      : program_{&program}, role_{&role}, buffers_{&buffers}, machine_{&machine}, rank_{rank}, track_{track} {}

  void on_end(OpId op, Time now) {
    buffers_->for_each_at_end(op, [&](std::uint32_t buffer) {
      by_device_.push_back({now, buffer, BufferEvent::Kind::kGivenBack});
    });
  }

  using Spans = std::span<timeline::Span const>;  ///< of the track's operations, as they ran

  /// Appends the track's samples, in the order of time: what lives all the time (persistent buffers, the GPU's context,
  /// the collective library's buffers), then every change. With a replay also what the allocator holds beyond that, so
  /// that all samples of the device add up to its memory in use, and the track says what the allocator did.
  void append_to(timeline::Timeline& timeline, Spans spans, bool replays_allocator) const;
  /// The same of a step whose run repeats itself, with what is left out. False, and nothing of use in the timeline, if
  /// what is held does not repeat itself.
  [[nodiscard]] bool append_to(timeline::Timeline& timeline, Spans spans, bool replays_allocator,
                               Repetition const& repetition) const;

 private:
  using Held = std::array<std::array<Bytes, kEnumSize<program::MemoryCategory>>, kEnumSize<program::MemorySpace>>;

  /// What a timeline is told: events, and which of them happen again.
  struct Story {
    std::vector<BufferEvent> events;
    std::optional<RepeatedEvents> repeated;
    RepeatedBuffers buffers;
  };
  [[nodiscard]] bool append_to(timeline::Timeline& timeline, bool replays_allocator, Story const& story) const;
  [[nodiscard]] std::vector<Bytes> sizes() const;
  [[nodiscard]] Held held_all_the_time(std::vector<Bytes> const& sizes, RepeatedBuffers const& repeated) const;
  [[nodiscard]] std::vector<BufferEvent> events(Spans spans) const;
  [[nodiscard]] Bytes room_for_segments() const;
  [[nodiscard]] Bytes library_buffers() const;

  program::StepProgram const* program_;
  program::Role const* role_;
  BuffersOfRole const* buffers_;
  Machine const* machine_;
  RankId rank_;
  timeline::TrackId track_;
  std::vector<BufferEvent> by_device_;  // in the order of completion; what the host does follows from the spans
};

}  // namespace twinstep::engine
