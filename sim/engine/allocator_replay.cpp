#include "sim/engine/allocator_replay.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::engine {

using namespace program;

AllocatorReplay::AllocatorReplay(Role const& role, std::span<Bytes const> sizes, hardware::Allocator const& settings,
                                 std::optional<Bytes> capacity)
    : allocator_{settings, capacity} {
  requests_.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) requests_.push_back(request_of(role, role.buffers[i], sizes[i]));
  make_persistent(role);
}

AllocatorReplay::Request AllocatorReplay::request_of(Role const& role, Buffer const& buffer, Bytes size) {
  if (buffer.space != MemorySpace::kDevice) return {};
  auto const makes_itself = !buffer.is_persistent && buffer.first_use.exists();
  auto const stream = makes_itself ? role.operations[buffer.first_use.index()].stream : StreamId{};
  return {size, stream.exists() ? stream : StreamId{0}, buffer.crosses_streams};
}

void AllocatorReplay::make_persistent(Role const& role) {
  constexpr auto kOrder =
      std::array{MemoryCategory::kParameters, MemoryCategory::kGradients, MemoryCategory::kOptimizer};
  auto const turn = [&](std::size_t buffer) {
    return std::ranges::find(kOrder, role.buffers[buffer].category) - kOrder.begin();
  };
  auto persistent = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < role.buffers.size(); ++i)
    if (role.buffers[i].is_persistent && requests_[i].bytes > Bytes{}) persistent.push_back(i);
  std::ranges::stable_sort(persistent, {}, turn);
  for (auto const buffer : persistent)
    requests_[buffer].block = allocator_.allocate(requests_[buffer].bytes, requests_[buffer].stream);
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
        if (requests_[event.buffer].bytes <= Bytes{}) break;
        allocator_.free_after_event(requests_[event.buffer].block);
        waiting_.push_back(event.buffer);
        break;
    }
  retries_ = allocator_.retries() - retries;
}

void AllocatorReplay::take(BufferEvent const& event) {
  if (auto& [bytes, stream, waits_for_event, block] = requests_[event.buffer]; bytes > Bytes{}) {
    auto const reserved = allocator_.reserved();
    auto const retries = allocator_.retries();
    block = allocator_.allocate(bytes, stream);
    if (allocator_.retries() != retries)  // it has waited for every event
      for (auto const buffer : std::exchange(waiting_, {})) changes_.push_back({event.time, buffer, false, reserved});
  }
  changes_.push_back({event.time, event.buffer, true, allocator_.reserved()});
}

void AllocatorReplay::give_back(BufferEvent const& event) {
  if (auto const& request = requests_[event.buffer]; request.bytes > Bytes{}) {
    if (request.waits_for_event && std::erase(waiting_, event.buffer) == 0) return;
    allocator_.free(request.block);
  }
  changes_.push_back({event.time, event.buffer, false, allocator_.reserved()});
}

}  // namespace twinstep::engine
