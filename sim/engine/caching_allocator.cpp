#include "sim/engine/caching_allocator.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace twinstep::engine {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kSmallestBlock = 512;
constexpr std::int64_t kLargestSmall = kMiB;  // request
constexpr std::int64_t kSmallSegment = 2 * kMiB;
constexpr std::int64_t kLargeSegment = 20 * kMiB;
constexpr std::int64_t kOwnSegmentFrom = 10 * kMiB;
constexpr std::int64_t kOwnSegmentStep = 2 * kMiB;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 58;  // roundings and sums stay within 63 bits

constexpr std::int64_t segment_size(std::int64_t size) {
  if (size <= kLargestSmall) return kSmallSegment;
  if (size < kOwnSegmentFrom) return kLargeSegment;
  return round_up(size, kOwnSegmentStep);
}

}  // namespace

CachingAllocator::Block CachingAllocator::allocate(Bytes bytes, StreamId stream) {
  TWINSTEP_CHECK(bytes > Bytes{}, "there is no block of no bytes");
  if (bytes.count() > kMostBytes) fail_beyond_range<BytesTag>();
  auto const size = round_up(bytes.count(), kSmallestBlock);
  auto const pool = pool_of(size, stream);
  auto block = find_free(pool, size);
  if (block == kNone) block = grow_or_retry(pool, size);
  cut(block, size);
  allocated_ += Bytes{blocks_[block].size};
  return block;
}

std::uint32_t CachingAllocator::pool_of(std::int64_t size, StreamId stream) {
  auto const pool = 2 * stream.index() + (size <= kLargestSmall ? 0 : 1);
  if (pool >= pools_.size()) pools_.resize(pool + 1);
  return static_cast<std::uint32_t>(pool);
}

/// The smallest free block that holds `size`, taken; kNone if there is none.
CachingAllocator::Block CachingAllocator::find_free(std::uint32_t pool, std::int64_t size) {
  auto const& free = pools_[pool].free;
  auto found = free.at_least(size);
  if (!found) return kNone;
  if (settings_.expandable_segments) {
    // A block that can grow counts as large as it can get.
    for (auto next = free.after(*found); next && reach(next->block) < reach(found->block); next = free.after(*next))
      found = next;
  } else if (settings_.max_split) {
    auto const limit = settings_.max_split->count();
    if (size < limit ? found->size >= limit : found->size >= size + kLargeSegment) return kNone;
  }
  auto const block = found->block;
  take(block);
  return block;
}

/// A block of new memory, taken. PyTorch tries again with less and less in its cache.
CachingAllocator::Block CachingAllocator::grow_or_retry(std::uint32_t pool, std::int64_t size) {
  if (auto const block = grow(pool, size); block != kNone) return block;
  if (release_uncut_blocks(pool, size))
    if (auto const block = grow(pool, size); block != kNone) return block;
  release_everything_free();
  ++retries_;
  if (auto const block = grow(pool, size); block != kNone) return block;
  capacity_.reset();  // the job is over; the rest shows what it would have needed
  return grow(pool, size);
}

CachingAllocator::Block CachingAllocator::grow(std::uint32_t pool, std::int64_t size) {
  return settings_.expandable_segments ? expand(pool, size) : new_segment(pool, segment_size(size));
}

CachingAllocator::Block CachingAllocator::new_segment(std::uint32_t pool, std::int64_t size) {
  if (!has_room(size)) return kNone;
  reserved_ += Bytes{size};
  ++segments_;
  auto const block = new_block({.address = next_address_, .size = size, .pool = pool});
  next_address_ += size;
  return block;
}

bool CachingAllocator::has_room(std::int64_t bytes) const {
  return !capacity_ || reserved_ + Bytes{bytes} <= *capacity_;
}

/// Leaves `size` of a taken block and keeps the rest as a free one, if the rules let it be cut.
void CachingAllocator::cut(Block block, std::int64_t size) {
  auto const every_rest = is_small(blocks_[block].pool) || settings_.expandable_segments;
  if (!every_rest && settings_.max_split && size >= settings_.max_split->count()) return;
  auto const rest = blocks_[block].size - size;
  if (rest >= (every_rest ? kSmallestBlock : kLargestSmall + 1)) keep(split(block, size));
}

void CachingAllocator::free(Block block) {
  allocated_ -= Bytes{blocks_[block].size};
  make_free(block);
}

CachingAllocator::Layout CachingAllocator::layout() const {
  auto is_unused = std::vector<bool>(blocks_.size());
  for (auto const block : unused_) is_unused[block] = true;
  auto layout = Layout{{}, capacity_, retries_};
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (auto const& block = blocks_[i]; !is_unused[i])
      layout.parts.push_back(
          {block.pool, block.address, block.size, static_cast<std::uint8_t>(block.state), block.before == kNone});
  std::ranges::sort(layout.parts);
  return layout;
}

/// Leaves `size` of a block, and returns the rest: a block behind it in the same state.
CachingAllocator::Block CachingAllocator::split(Block block, std::int64_t size) {
  auto const whole = blocks_[block];
  auto const rest = new_block({whole.address + size, whole.size - size, block, whole.after, whole.pool, whole.state});
  if (whole.after != kNone) blocks_[whole.after].before = rest;
  blocks_[block].size = size;
  blocks_[block].after = rest;
  return rest;
}

/// Lets a block swallow those beside it that are in the same state, free or without pages.
void CachingAllocator::join_neighbours(Block block) {
  auto& grown = blocks_[block];
  for (auto const neighbour : {grown.before, grown.after}) {
    if (neighbour == kNone || blocks_[neighbour].state != grown.state) continue;
    auto const gone = blocks_[neighbour];
    if (gone.state == State::kFree)
      take(neighbour);
    else
      std::erase(pools_[gone.pool].unmapped, neighbour);
    grown.size += gone.size;
    if (grown.before == neighbour) {
      grown.address = gone.address;
      grown.before = gone.before;
      if (grown.before != kNone) blocks_[grown.before].after = block;
    } else {
      grown.after = gone.after;
      if (grown.after != kNone) blocks_[grown.after].before = block;
    }
    unused_.push_back(neighbour);
  }
}

/// Frees a block, as one with its free neighbours.
void CachingAllocator::make_free(Block block) {
  blocks_[block].state = State::kFree;
  join_neighbours(block);
  keep(block);
}

/// Enters a block among the free ones of its pool.
void CachingAllocator::keep(Block block) {
  auto& stretch = blocks_[block];
  stretch.state = State::kFree;
  stretch.shelf = pools_[stretch.pool].free.add({stretch.size, stretch.address, block});
}

/// Takes a block from the free ones of its pool.
void CachingAllocator::take(Block block) {
  auto& stretch = blocks_[block];
  stretch.state = State::kTaken;
  pools_[stretch.pool].free.remove(stretch.shelf, stretch.address);
}

CachingAllocator::Block CachingAllocator::new_block(Stretch const& stretch) {
  if (unused_.empty()) {
    blocks_.push_back(stretch);
    return static_cast<Block>(blocks_.size() - 1);
  }
  auto const block = unused_.back();
  unused_.pop_back();
  blocks_[block] = stretch;
  return block;
}

/// Waits for all events, then gives back every segment, or page, in which nothing is used.
void CachingAllocator::release_everything_free() {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].state == State::kWaitsForEvent) free(static_cast<Block>(i));
  for (auto const& pool : pools_) {
    for (auto const& entry : pool.free.all())  // releasing changes them
      if (settings_.expandable_segments)
        unmap_pages(entry.block);
      else if (is_whole_segment(entry.block))
        release_segment(entry.block);
  }
}

/// With a limit to what is cut: gives back blocks above the limit, the largest first, until `size` bytes are.
bool CachingAllocator::release_uncut_blocks(std::uint32_t pool, std::int64_t size) {
  if (!settings_.max_split) return false;
  auto const limit = settings_.max_split->count();
  auto const wanted = std::max(size, limit);
  auto const& free = pools_[pool].free;
  if (auto const found = free.at_least(wanted)) {
    release_segment(found->block);
    return true;
  }
  auto released = std::int64_t{0};
  for (auto largest = free.last(); released < wanted && largest && largest->size >= limit; largest = free.last()) {
    released += largest->size;
    release_segment(largest->block);
  }
  return released >= wanted;
}

bool CachingAllocator::is_whole_segment(Block block) const {
  return blocks_[block].before == kNone && blocks_[block].after == kNone;
}

void CachingAllocator::release_segment(Block block) {
  take(block);
  reserved_ -= Bytes{blocks_[block].size};
  --segments_;
  unused_.push_back(block);
}

}  // namespace twinstep::engine
