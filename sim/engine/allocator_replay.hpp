#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/caching_allocator.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// What happens to a buffer of a role at a moment.
struct BufferEvent {
  enum class Kind : std::uint8_t {
    kTaken,      ///< the host issues the first operation that touches it
    kLetGo,      ///< the host has issued the last one, of several streams
    kGivenBack,  ///< nothing uses it any more
  };
  Time time;
  std::uint32_t buffer = 0;
  Kind kind{};
};

/// A change to what a rank holds, and what the allocator has reserved after it.
struct MemoryChange {
  Time time;
  std::uint32_t buffer = 0;
  bool is_taken = false;
  Bytes reserved;
};

/// Events of a micro-batch that stands for `times` further ones, which are not among the events: those up to `behind`.
/// From `before` on come those of the one before it, up to `end` those of the next one, which are like them.
struct RepeatedEvents {
  std::int64_t times = 0;
  std::size_t before = 0;
  std::size_t first = 0;
  std::size_t behind = 0;
  std::size_t end = 0;
};

/// Buffers that are there `times` more than once, one behind the other.
struct RepeatedBuffers {
  std::size_t first = 0;
  std::size_t end = 0;
  std::int64_t times = 0;
  [[nodiscard]] bool contain(std::size_t buffer) const { return first <= buffer && buffer < end; }
  /// How many times a buffer is there.
  [[nodiscard]] std::int64_t count(std::size_t buffer) const { return contain(buffer) ? 1 + times : 1; }
};

/// A training job's requests to the caching allocator: persistent buffers once, in the order in which a framework makes
/// them (parameters, gradients, optimizer, the rest), then a step again and again until it leaves as much reserved as
/// the one before it; three times at most.
///
/// A buffer belongs to the stream of the operation that first touches it; persistent ones to the role's first stream,
/// as the job makes them before any step. Host and NVMe memory have no such allocator.
class AllocatorReplay {
 public:
  /// @param sizes     of the role's buffers
  /// @param capacity  what the device has for segments; without, it never runs out
  /// @param repeated  buffers of which the persistent ones are there several times
  AllocatorReplay(program::Role const& role, std::span<Bytes const> sizes, hardware::Allocator const& settings,
                  std::optional<Bytes> capacity, RepeatedBuffers repeated = {});

  /// Replays the step until it repeats itself. The changes of its last repetition, in the order of time: what waits for
  /// an event is given back earlier where a retry has waited for it.
  [[nodiscard]] std::vector<MemoryChange> run(std::span<BufferEvent const> step);
  /// The same of a step of which repeated events are left out. Nothing unless these leave the allocator as they find
  /// it, so that any number of them does.
  [[nodiscard]] std::optional<std::vector<MemoryChange>> run(std::span<BufferEvent const> step,
                                                             RepeatedEvents const& repeated);

  [[nodiscard]] Bytes reserved_before() const { return reserved_before_; }  ///< when the last repetition began
  [[nodiscard]] timeline::AllocatorUse use() const { return {allocator_.segments(), retries_}; }

 private:
  /// What a buffer asks of the allocator; nothing if it is not in device memory.
  struct Request {
    Bytes bytes;
    StreamId stream;
    bool waits_for_event = false;  ///< before it is given back
    CachingAllocator::Block block = 0;
  };

  [[nodiscard]] static Request request_of(program::Role const& role, program::Buffer const& buffer, Bytes size);
  void make_persistent(program::Role const& role, RepeatedBuffers const& repeated);
  void begin();
  void replay(std::span<BufferEvent const> events);
  void end();
  [[nodiscard]] bool is_settled() const { return retries_ == 0 && allocator_.reserved() == reserved_before_; }
  [[nodiscard]] bool repeat(std::span<BufferEvent const> step, RepeatedEvents const& repeated);
  void note(CachingAllocator::Block block) {
    if (notes_addresses_) addresses_.push_back(allocator_.address(block));
  }
  void take(BufferEvent const& event);
  void give_back(BufferEvent const& event);

  CachingAllocator allocator_;
  std::vector<Request> requests_;        // by buffer
  std::vector<std::uint32_t> waiting_;   // buffers that the host has let go of
  std::vector<MemoryChange> changes_;    // of the last repetition
  std::vector<std::int64_t> addresses_;  // of blocks that were taken and given back
  bool notes_addresses_ = false;
  Bytes reserved_before_;
  std::int64_t retries_before_ = 0;
  std::int64_t retries_ = 0;  // of the last repetition
};

}  // namespace twinstep::engine
