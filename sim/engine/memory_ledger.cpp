#include "sim/engine/memory_ledger.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/base/check.hpp"
#include "sim/engine/memory_repetition.hpp"

namespace twinstep::engine {

using namespace program;

namespace {

/// Writes the samples of one track, and knows how much its device's allocator has handed out.
class SampleWriter {
 public:
  SampleWriter(std::vector<timeline::MemorySample>& samples, timeline::TrackId track)
      : samples_{samples}, track_{track} {}

  void write(Time time, MemoryCategory category, MemorySpace space, Bytes change) {
    if (change != Bytes{}) samples_.push_back({track_, time, category, space, change});
  }
  /// With what the allocator holds after the change. It leaves the cache before it is taken, and is given back before
  /// it is cached: nothing is ever held twice.
  void write_change(Time time, Buffer const& buffer, Bytes change, std::optional<Bytes> reserved) {
    if (buffer.space == MemorySpace::kDevice) allocated_ += change;
    if (reserved && change > Bytes{}) write_fragmentation(time, *reserved);
    write(time, buffer.category, buffer.space, change);
    if (reserved && change < Bytes{}) write_fragmentation(time, *reserved);
  }
  void write_fragmentation(Time time, Bytes reserved) {
    auto const fragmentation = reserved - allocated_;
    write(time, MemoryCategory::kFragmentation, MemorySpace::kDevice, fragmentation - fragmentation_);
    fragmentation_ = fragmentation;
  }
  void count_allocated(Bytes bytes) { allocated_ += bytes; }

 private:
  std::vector<timeline::MemorySample>& samples_;
  timeline::TrackId track_;
  Bytes allocated_;
  Bytes fragmentation_;
};

}  // namespace

void BuffersOfRole::Lists::add(OpId op, std::size_t buffer) {
  next_[buffer] = first_[op.index()];
  first_[op.index()] = static_cast<std::uint32_t>(buffer);
}

BuffersOfRole::BuffersOfRole(Role const& role)
    : taken_{role.operations.size(), role.buffers.size()},
      given_back_at_issue_{role.operations.size(), role.buffers.size()},
      given_back_at_end_{role.operations.size(), role.buffers.size()} {
  for (std::size_t i = 0; i < role.buffers.size(); ++i) {
    auto const& buffer = role.buffers[i];
    if (buffer.is_persistent || !buffer.first_use.exists()) continue;
    taken_.add(buffer.first_use, i);
    (buffer.returns_late() ? given_back_at_end_ : given_back_at_issue_).add(buffer.last_use, i);
  }
}

std::vector<Bytes> MemoryLedger::sizes() const {
  auto sizes = std::vector<Bytes>{};
  sizes.reserve(role_->buffers.size());
  for (auto const& buffer : role_->buffers)
    sizes.push_back(size_of(buffer.type) * program_->evaluate(buffer.elements, rank_));
  return sizes;
}

/// In the order of time; at one moment what the host does comes before what the device does.
std::vector<BufferEvent> MemoryLedger::events(Spans spans) const {
  auto events = std::vector<BufferEvent>{};
  events.reserve(2 * role_->buffers.size() + by_device_.size());
  auto ended = by_device_.begin();
  for (auto const& span : spans) {
    if (!span.stream.exists()) continue;
    while (ended != by_device_.end() && ended->time < span.issue) events.push_back(*ended++);
    buffers_->for_each_at_issue(span.op, [&](std::uint32_t buffer, BufferEvent::Kind kind) {
      events.push_back({span.issue, buffer, kind});
    });
  }
  events.insert(events.end(), ended, by_device_.end());
  return events;
}

Bytes MemoryLedger::library_buffers() const {
  auto const communicators = std::ranges::count_if(program_->communicators, [&](Communicator const& communicator) {
    return program_->grids.size(communicator.along) > 1;
  });
  return machine_->cluster().library.buffers.value * communicators;
}

/// What context and library leave to the allocator.
Bytes MemoryLedger::room_for_segments() const {
  auto const& gpu = machine_->cluster().node().gpu;
  return gpu.memory_capacity.value - gpu.context_memory.value - library_buffers();
}

MemoryLedger::Held MemoryLedger::held_all_the_time(std::vector<Bytes> const& sizes,
                                                   RepeatedBuffers const& repeated) const {
  auto held = Held{};
  auto const at = [&](MemoryCategory category, MemorySpace space) -> Bytes& {
    return held[static_cast<std::size_t>(space)][static_cast<std::size_t>(category)];
  };
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (auto const& buffer = role_->buffers[i]; buffer.is_persistent)
      at(buffer.category, buffer.space) += sizes[i] * repeated.count(i);
  at(MemoryCategory::kContext, MemorySpace::kDevice) += machine_->cluster().node().gpu.context_memory.value;
  at(MemoryCategory::kCollectiveLibrary, MemorySpace::kDevice) += library_buffers();
  return held;
}

void MemoryLedger::append_to(timeline::Timeline& timeline, Spans spans, bool replays_allocator) const {
  auto const is_told = append_to(timeline, replays_allocator, Story{events(spans), {}, {}});
  TWINSTEP_CHECK(is_told, "what leaves nothing out can be told");
}

bool MemoryLedger::append_to(timeline::Timeline& timeline, Spans spans, bool replays_allocator,
                             Repetition const& repetition) const {
  auto const cell = track_.index();
  auto story =
      Story{events(spans), {}, {repetition.first_buffer(cell), repetition.end_of_buffers(cell), repetition.times}};
  story.repeated = repeat_events(*role_, sizes(), repetition, cell, story.events);
  return story.repeated && append_to(timeline, replays_allocator, story);
}

bool MemoryLedger::append_to(timeline::Timeline& timeline, bool replays_allocator, Story const& story) const {
  auto const sizes = this->sizes();
  auto const always = held_all_the_time(sizes, story.buffers);
  auto writer = SampleWriter{timeline.memory, track_};
  for (std::size_t c = 0; c < kEnumSize<MemoryCategory>; ++c)
    for (std::size_t s = 0; s < kEnumSize<MemorySpace>; ++s)
      writer.write(Time{}, static_cast<MemoryCategory>(c), static_cast<MemorySpace>(s), always[s][c]);

  auto const change = [&](std::uint32_t buffer, bool is_taken) { return is_taken ? sizes[buffer] : -sizes[buffer]; };
  if (!replays_allocator) {
    for (auto const& [time, buffer, kind] : story.events)
      if (kind != BufferEvent::Kind::kLetGo)
        writer.write_change(time, role_->buffers[buffer], change(buffer, kind == BufferEvent::Kind::kTaken), {});
    return true;
  }
  auto allocator = AllocatorReplay{*role_, sizes, machine_->cluster().allocator, room_for_segments(), story.buffers};
  auto const changes =
      story.repeated ? allocator.run(story.events, *story.repeated) : std::optional{allocator.run(story.events)};
  if (!changes) return false;
  timeline.memory.reserve(timeline.memory.size() + 2 * changes->size() + 1);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (role_->buffers[i].is_persistent && role_->buffers[i].space == MemorySpace::kDevice)
      writer.count_allocated(sizes[i] * story.buffers.count(i));
  writer.write_fragmentation(Time{}, allocator.reserved_before());
  for (auto const& [time, buffer, is_taken, reserved] : *changes)
    writer.write_change(time, role_->buffers[buffer], change(buffer, is_taken), reserved);
  timeline.tracks[track_.index()].allocator = allocator.use();
  return true;
}

}  // namespace twinstep::engine
