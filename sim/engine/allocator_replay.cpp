#include "sim/engine/allocator_replay.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::engine {

using namespace program;

AllocatorReplay::AllocatorReplay(Role const& role, std::span<Bytes const> sizes, hardware::Allocator const& settings,
                                 std::optional<Bytes> capacity)
    : role_{&role}, sizes_{sizes}, allocator_{settings, capacity}, blocks_(role.buffers.size()) {
  make_persistent();
}

void AllocatorReplay::make_persistent() {
  constexpr auto kOrder =
      std::array{MemoryCategory::kParameters, MemoryCategory::kGradients, MemoryCategory::kOptimizer};
  auto const place = [&](MemoryCategory category) { return std::ranges::find(kOrder, category) - kOrder.begin(); };
  for (auto turn = std::ptrdiff_t{0}; turn <= std::ssize(kOrder); ++turn)
    for (std::size_t i = 0; i < role_->buffers.size(); ++i) {
      auto const& buffer = role_->buffers[i];
      if (buffer.is_persistent && place(buffer.category) == turn && is_replayed(i))
        blocks_[i] = allocator_.allocate(sizes_[i], StreamId{0});
    }
}

std::vector<MemoryChange> AllocatorReplay::run(std::span<BufferEvent const> step) {
  constexpr int kMostRepetitions = 3;
  for (auto repetition = 0; repetition < kMostRepetitions; ++repetition) {
    repeat(step);
    if (retries_ == 0 && allocator_.reserved() == reserved_before_) break;
  }
  return std::move(changes_);
}

void AllocatorReplay::repeat(std::span<BufferEvent const> step) {
  changes_.clear();
  changes_.reserve(step.size());
  reserved_before_ = allocator_.reserved();
  auto const retries = allocator_.retries();
  for (auto const& event : step) switch (event.kind) {
      case BufferEvent::Kind::kTaken: take(event); break;
      case BufferEvent::Kind::kGivenBack: give_back(event); break;
      case BufferEvent::Kind::kLetGo:
        if (!is_replayed(event.buffer)) break;
        allocator_.free_after_event(blocks_[event.buffer]);
        waiting_.push_back(event.buffer);
        break;
    }
  retries_ = allocator_.retries() - retries;
}

void AllocatorReplay::take(BufferEvent const& event) {
  if (is_replayed(event.buffer)) {
    auto const reserved = allocator_.reserved();
    auto const retries = allocator_.retries();
    blocks_[event.buffer] = allocator_.allocate(sizes_[event.buffer], stream_of(role_->buffers[event.buffer]));
    if (allocator_.retries() != retries)  // it has waited for every event
      for (auto const buffer : std::exchange(waiting_, {})) changes_.push_back({event.time, buffer, false, reserved});
  }
  changes_.push_back({event.time, event.buffer, true, allocator_.reserved()});
}

void AllocatorReplay::give_back(BufferEvent const& event) {
  if (is_replayed(event.buffer)) {
    if (role_->buffers[event.buffer].crosses_streams && std::erase(waiting_, event.buffer) == 0) return;
    allocator_.free(blocks_[event.buffer]);
  }
  changes_.push_back({event.time, event.buffer, false, allocator_.reserved()});
}

bool AllocatorReplay::is_replayed(std::size_t buffer) const {
  return role_->buffers[buffer].space == MemorySpace::kDevice && sizes_[buffer] > Bytes{};
}

StreamId AllocatorReplay::stream_of(Buffer const& buffer) const {
  auto const stream = role_->operations[buffer.first_use.index()].stream;
  return stream.exists() ? stream : StreamId{0};
}

}  // namespace twinstep::engine
