#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/free_blocks.hpp"
#include "sim/hardware/cluster.hpp"

namespace twinstep::engine {

/// PyTorch's caching allocator of device memory, without the memory: which requests share which segments, and how much
/// it holds for them.
///
/// A request is rounded up to 512 B. Up to 1 MiB it comes from the small pool, whose segments have 2 MiB; above it from
/// the large one, whose segments have 20 MiB for less than 10 MiB and a multiple of 2 MiB otherwise. Each pool of each
/// stream takes the smallest free block that holds the request, the one of the lowest address if several are as small,
/// and cuts off what is left if that is 512 B or more (small pool) or more than 1 MiB (large pool). A block that is
/// given back joins its free neighbours. Segments stay until the device has no memory left for another one: then the
/// allocator waits for all events, gives back every segment that is wholly free, and tries again: a retry.
///
/// With expandable segments each pool of each stream has one segment that grows by pages of 2 MiB (small) or 20 MiB
/// (large) and gives back free pages; every remainder of 512 B or more is cut off.
/// Not modelled: garbage collection, rounding to powers of two, private pools of CUDA graphs; addresses that the device
/// gives out again: a later segment lies above all earlier ones.
///
/// Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, get_free_block, should_split,
/// try_merge_blocks, release_available_cached_blocks, release_cached_blocks, try_allocate_expandable_block).
/// Cost of a request: logarithmic in the free blocks of its pool, and a move of those that are larger.
class CachingAllocator {
 public:
  using Block = std::uint32_t;

  /// @param capacity  what the device has for segments; without, it never runs out
  explicit CachingAllocator(hardware::Allocator settings, std::optional<Bytes> capacity = std::nullopt)
      : settings_{settings}, capacity_{capacity} {}

  /// Requires bytes > 0: PyTorch hands out no block for nothing. Where PyTorch raises OutOfMemoryError, it is
  /// granted all the same, and so is everything after it: `reserved` is then above the capacity.
  [[nodiscard]] Block allocate(Bytes bytes, StreamId stream);

  /// Gives a block back. Requires one that `allocate` gave and that was not given back yet.
  void free(Block block);

  /// The host has let go of a block that other streams still use (`record_stream`): it stays until `free`, or until
  /// a retry has waited for those streams. Then it is free already, and `free` must not be called.
  void free_after_event(Block block) { blocks_[block].state = State::kWaitsForEvent; }

  /// Everything on which later answers depend. Of two allocators with equal layouts one answers as the other does.
  struct Layout {
    struct Part {
      std::uint32_t pool = 0;
      std::int64_t address = 0;
      std::int64_t size = 0;
      std::uint8_t state = 0;
      bool begins_segment = false;
      auto operator<=>(Part const&) const = default;
    };
    std::vector<Part> parts;  ///< by pool and address
    std::optional<Bytes> capacity;
    std::int64_t retries = 0;
    bool operator==(Layout const&) const = default;
  };
  [[nodiscard]] Layout layout() const;
  [[nodiscard]] std::int64_t address(Block block) const { return blocks_[block].address; }

  [[nodiscard]] Bytes reserved() const { return reserved_; }    ///< in segments: torch.cuda.memory_reserved
  [[nodiscard]] Bytes allocated() const { return allocated_; }  ///< in blocks that are not free, roundings included
  [[nodiscard]] std::int64_t segments() const { return segments_; }  ///< expandable: pools that hold pages
  [[nodiscard]] std::int64_t retries() const { return retries_; }    ///< torch.cuda.memory_stats "num_alloc_retries"

 private:
  static constexpr Block kNone = 0xffff'ffff;
  enum class State : std::uint8_t { kFree, kTaken, kWaitsForEvent, kUnmapped };

  /// A part of a segment.
  struct Stretch {
    std::int64_t address = 0;
    std::int64_t size = 0;
    Block before = kNone;  // in its segment
    Block after = kNone;
    std::uint32_t pool = 0;
    State state = State::kTaken;
    FreeBlocks::ShelfId shelf = 0;  // of a free one
  };
  struct Pool {
    FreeBlocks free;
    std::vector<Block> unmapped;  // stretches of an expandable segment that have no pages, the lowest first
    std::int64_t mapped = 0;      // bytes of its pages
  };

  // Pool 2 s is the small one of stream s, 2 s + 1 the large one.
  [[nodiscard]] static bool is_small(std::uint32_t pool) { return pool % 2 == 0; }
  [[nodiscard]] std::uint32_t pool_of(std::int64_t size, StreamId stream);
  [[nodiscard]] Block find_free(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] Block grow_or_retry(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] Block grow(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] Block new_segment(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] bool has_room(std::int64_t bytes) const;
  void cut(Block block, std::int64_t size);

  // Blocks and their neighbours.
  [[nodiscard]] Block new_block(Stretch const& stretch);
  [[nodiscard]] Block split(Block block, std::int64_t size);
  void join_neighbours(Block block);
  void make_free(Block block);
  void keep(Block block);
  void take(Block block);
  [[nodiscard]] bool is_whole_segment(Block block) const;

  // Giving memory back to the device.
  void release_everything_free();
  [[nodiscard]] bool release_uncut_blocks(std::uint32_t pool, std::int64_t size);
  void release_segment(Block block);

  // expandable_segments.cpp
  [[nodiscard]] static std::int64_t page_of(std::uint32_t pool);
  [[nodiscard]] std::int64_t reach(Block block) const;
  [[nodiscard]] Block expand(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] Block find_expandable(std::uint32_t pool, std::int64_t size);
  [[nodiscard]] bool map(Block block, std::int64_t size);
  void unmap_pages(Block block);
  void keep_unmapped(Block block);
  void count_pages(std::uint32_t pool, std::int64_t bytes);

  hardware::Allocator settings_;
  std::optional<Bytes> capacity_;
  std::vector<Stretch> blocks_;
  std::vector<Block> unused_;  // places in blocks_
  std::vector<Pool> pools_;
  std::int64_t next_address_ = 0;
  Bytes reserved_;
  Bytes allocated_;
  std::int64_t segments_ = 0;
  std::int64_t retries_ = 0;
};

}  // namespace twinstep::engine
