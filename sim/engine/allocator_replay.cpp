#include "sim/engine/allocator_replay.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::engine {

using namespace program;

namespace {

constexpr int kMostRepetitions = 3;

}  // namespace

AllocatorReplay::AllocatorReplay(Role const& role, std::span<Bytes const> sizes, hardware::Allocator const& settings,
                                 std::optional<Bytes> capacity, RepeatedBuffers repeated)
    : allocator_{settings, capacity} {
  requests_.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) requests_.push_back(request_of(role, role.buffers[i], sizes[i]));
  make_persistent(role, repeated);
}

AllocatorReplay::Request AllocatorReplay::request_of(Role const& role, Buffer const& buffer, Bytes size) {
  if (buffer.space != MemorySpace::kDevice) return {};
  auto const makes_itself = !buffer.is_persistent && buffer.first_use.exists();
  auto const stream =
      makes_itself && buffer.is_recorded ? role.operations[buffer.first_use.index()].stream : StreamId{};
  return {size, stream.exists() ? stream : StreamId{0}, buffer.returns_late()};
}

void AllocatorReplay::make_persistent(Role const& role, RepeatedBuffers const& repeated) {
  constexpr auto kOrder =
      std::array{MemoryCategory::kParameters, MemoryCategory::kGradients, MemoryCategory::kOptimizer};
  auto const turn = [&](std::size_t buffer) {
    return std::ranges::find(kOrder, role.buffers[buffer].category) - kOrder.begin();
  };
  auto persistent = std::vector<std::size_t>{};
  for (std::size_t i = 0; i < role.buffers.size(); ++i)
    if (role.buffers[i].is_persistent && requests_[i].bytes > Bytes{}) persistent.push_back(i);
  std::ranges::stable_sort(persistent, {}, turn);
  auto const make = [this](std::size_t buffer) {
    requests_[buffer].block = allocator_.allocate(requests_[buffer].bytes, requests_[buffer].stream);
  };
  for (auto next = persistent.begin(); next != persistent.end();) {
    auto const end =
        std::find_if(next, persistent.end(), [&](std::size_t buffer) { return !repeated.contain(buffer); });
    for (std::int64_t copy = 0; next != end && copy < repeated.times; ++copy) std::for_each(next, end, make);
    std::for_each(next, end, make);
    for (next = end; next != persistent.end() && !repeated.contain(*next); ++next) make(*next);
  }
}

std::vector<MemoryChange> AllocatorReplay::run(std::span<BufferEvent const> step) {
  for (auto repetition = 0; repetition < kMostRepetitions; ++repetition) {
    begin();
    replay(step);
    end();
    if (is_settled()) break;
  }
  return std::move(changes_);
}

std::optional<std::vector<MemoryChange>> AllocatorReplay::run(std::span<BufferEvent const> step,
                                                              RepeatedEvents const& repeated) {
  for (auto repetition = 0; repetition < kMostRepetitions; ++repetition) {
    if (!repeat(step, repeated)) return std::nullopt;
    if (is_settled()) break;
  }
  return std::move(changes_);
}

/// A repeated micro-batch must leave everything where it was, and the next one take the same blocks. Or two of them
/// must, in turn, where their number is even.
bool AllocatorReplay::repeat(std::span<BufferEvent const> step, RepeatedEvents const& repeated) {
  auto const [times, before, first, behind, end_of_next] = repeated;
  struct Part {
    CachingAllocator::Layout from;
    std::vector<std::int64_t> taken;
    bool operator==(Part const&) const = default;
  };
  auto const replay_part = [&](std::size_t begin, std::size_t end) {
    auto from = allocator_.layout();
    replay(step.subspan(begin, end - begin));
    return Part{std::move(from), std::exchange(addresses_, {})};
  };
  begin();
  replay(step.first(before));
  notes_addresses_ = true;
  auto const earlier = replay_part(before, first);
  auto const written = replay_part(first, behind);
  auto const next = replay_part(behind, end_of_next);
  notes_addresses_ = false;
  auto const repeats = next == written && allocator_.layout() == written.from;
  auto const alternates = times % 2 == 0 && next == earlier && allocator_.layout() == written.from;
  if (!repeats && !alternates) return false;
  replay(step.subspan(end_of_next));
  end();
  return true;
}

void AllocatorReplay::begin() {
  changes_.clear();
  reserved_before_ = allocator_.reserved();
  retries_before_ = allocator_.retries();
}

void AllocatorReplay::end() {
  retries_ = allocator_.retries() - retries_before_;
}

void AllocatorReplay::replay(std::span<BufferEvent const> events) {
  changes_.reserve(changes_.size() + events.size());
  for (auto const& event : events) switch (event.kind) {
      case BufferEvent::Kind::kTaken: take(event); break;
      case BufferEvent::Kind::kGivenBack: give_back(event); break;
      case BufferEvent::Kind::kLetGo:
        if (requests_[event.buffer].bytes <= Bytes{}) break;
        allocator_.free_after_event(requests_[event.buffer].block);
        waiting_.push_back(event.buffer);
        break;
    }
}

void AllocatorReplay::take(BufferEvent const& event) {
  if (auto& [bytes, stream, waits_for_event, block] = requests_[event.buffer]; bytes > Bytes{}) {
    auto const reserved = allocator_.reserved();
    auto const retries = allocator_.retries();
    block = allocator_.allocate(bytes, stream);
    note(block);
    if (allocator_.retries() != retries)  // it has waited for every event
      for (auto const buffer : std::exchange(waiting_, {})) changes_.push_back({event.time, buffer, false, reserved});
  }
  changes_.push_back({event.time, event.buffer, true, allocator_.reserved()});
}

void AllocatorReplay::give_back(BufferEvent const& event) {
  if (auto const& request = requests_[event.buffer]; request.bytes > Bytes{}) {
    if (request.waits_for_event && std::erase(waiting_, event.buffer) == 0) return;
    note(request.block);
    allocator_.free(request.block);
  }
  changes_.push_back({event.time, event.buffer, false, allocator_.reserved()});
}

}  // namespace twinstep::engine
