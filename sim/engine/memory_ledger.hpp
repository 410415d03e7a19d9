#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/allocator_replay.hpp"
#include "sim/engine/machine.hpp"
#include "sim/engine/repetition.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// The memory of one track over time, by the host-time rule of PyTorch's caching allocator: a buffer is allocated when
/// the host issues the first operation that touches it, and given back when the host has issued the last one; if
/// several streams touched it, when that last operation has ended (its block waits for an event).
class MemoryLedger {
 public:
  MemoryLedger(program::StepProgram const& program, program::Role const& role, RankId rank, timeline::TrackId track,
               Machine const& machine);

  void on_issue(OpId op, Time now);
  void on_end(OpId op, Time now);

  /// Appends the track's samples, in the order of time: what lives all the time (persistent buffers, the GPU's context,
  /// the collective library's buffers), then every change. With a replay also what the allocator holds beyond that, so
  /// that all samples of the device add up to its memory in use, and the track says what the allocator did.
  void append_to(timeline::Timeline& timeline, bool replays_allocator) const;
  /// The same of a step whose run repeats itself, with what is left out. False, and nothing of use in the timeline, if
  /// what is held does not repeat itself.
  [[nodiscard]] bool append_to(timeline::Timeline& timeline, bool replays_allocator,
                               Repetition const& repetition) const;

 private:
  /// Lists of buffers, one list for each operation.
  class BuffersOf {
   public:
    BuffersOf(std::size_t operations, std::size_t buffers) : first_(operations, kNone), next_(buffers, kNone) {}
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
  [[nodiscard]] std::vector<BufferEvent> events() const;
  [[nodiscard]] Bytes room_for_segments() const;
  [[nodiscard]] Bytes library_buffers() const;

  program::StepProgram const* program_;
  program::Role const* role_;
  Machine const* machine_;
  RankId rank_;
  timeline::TrackId track_;
  BuffersOf taken_by_;             // the issue of an operation
  BuffersOf given_back_by_issue_;  // of the last operation that touches them
  BuffersOf given_back_by_end_;
  std::vector<BufferEvent> by_host_;    // in the order of issue
  std::vector<BufferEvent> by_device_;  // in the order of completion
};

}  // namespace twinstep::engine
