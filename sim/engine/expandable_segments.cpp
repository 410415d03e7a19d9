// The part of the caching allocator that grows segments by pages and gives pages back.

#include <algorithm>

#include "sim/engine/caching_allocator.hpp"

namespace twinstep::engine {
namespace {

constexpr std::int64_t kSmallPage = 2 << 20;
constexpr std::int64_t kLargePage = 20 << 20;
constexpr std::int64_t kAddresses = std::int64_t{1} << 59;  // more than any request needs

}  // namespace

std::int64_t CachingAllocator::page_of(std::uint32_t pool) {
  return is_small(pool) ? kSmallPage : kLargePage;
}

/// A taken block of at least `size`, on new pages and the free blocks between them; kNone if the device is full.
CachingAllocator::Block CachingAllocator::expand(std::uint32_t pool, std::int64_t size) {
  auto block = find_expandable(pool, size);
  if (blocks_[block].state == State::kUnmapped && !map(block, std::min(size, blocks_[block].size))) return kNone;
  while (blocks_[block].size < size) {
    auto const next = blocks_[block].after;
    if (!map(next, std::min(size - blocks_[block].size, blocks_[next].size))) return kNone;
    block = next;  // it has swallowed the free block before it
  }
  take(block);
  return block;
}

/// The lowest block, free or without pages, from which `size` bytes are free or without pages.
CachingAllocator::Block CachingAllocator::find_expandable(std::uint32_t pool, std::int64_t size) {
  auto const is_available = [&](Block block) {
    return block != kNone && (blocks_[block].state == State::kFree || blocks_[block].state == State::kUnmapped);
  };
  for (auto const unmapped : pools_[pool].unmapped) {
    auto const first = is_available(blocks_[unmapped].before) ? blocks_[unmapped].before : unmapped;
    auto room = std::int64_t{0};
    for (auto block = first; room < size && is_available(block); block = blocks_[block].after)
      room += blocks_[block].size;
    if (room >= size) return first;
  }
  auto const addresses = kAddresses / page_of(pool) * page_of(pool);
  auto const segment = new_block({.size = addresses, .pool = pool, .state = State::kUnmapped});
  keep_unmapped(segment);
  return segment;
}

/// How large a free block can get by pages behind it.
std::int64_t CachingAllocator::reach(Block block) const {
  auto const& stretch = blocks_[block];
  auto const can_grow = stretch.after != kNone && blocks_[stretch.after].state == State::kUnmapped;
  return stretch.size + (can_grow ? blocks_[stretch.after].size : 0);
}

/// Puts pages under at least the first `size` bytes of a stretch without, and joins it with its free neighbours. False
/// if the device has no room for them.
bool CachingAllocator::map(Block block, std::int64_t size) {
  auto const pool = blocks_[block].pool;
  auto const mapped = round_up(size, page_of(pool));
  if (!has_room(mapped)) return false;
  std::erase(pools_[pool].unmapped, block);
  if (mapped < blocks_[block].size) keep_unmapped(split(block, mapped));
  count_pages(pool, mapped);
  make_free(block);
  return true;
}

/// Gives the pages back that lie wholly in a free block.
void CachingAllocator::unmap_pages(Block block) {
  auto const whole = blocks_[block];
  auto const page = page_of(whole.pool);
  auto const begin = round_up(whole.address, page);
  auto const end = (whole.address + whole.size) / page * page;
  if (begin >= end) return;
  take(block);
  if (end < whole.address + whole.size) keep(split(block, end - whole.address));
  auto pages = block;
  if (begin > whole.address) {
    pages = split(block, begin - whole.address);
    keep(block);
  }
  count_pages(whole.pool, begin - end);
  blocks_[pages].state = State::kUnmapped;
  join_neighbours(pages);
  keep_unmapped(pages);
}

void CachingAllocator::keep_unmapped(Block block) {
  blocks_[block].state = State::kUnmapped;
  auto& unmapped = pools_[blocks_[block].pool].unmapped;
  auto const address = [&](Block each) { return blocks_[each].address; };
  unmapped.insert(std::ranges::lower_bound(unmapped, address(block), {}, address), block);
}

/// Pages that a pool got, or gave back if `bytes` is negative.
void CachingAllocator::count_pages(std::uint32_t pool, std::int64_t bytes) {
  auto& mapped = pools_[pool].mapped;
  segments_ -= mapped > 0 ? 1 : 0;
  mapped += bytes;
  segments_ += mapped > 0 ? 1 : 0;
  reserved_ += Bytes{bytes};
}

}  // namespace twinstep::engine
