#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace twinstep::engine {

/// A free stretch of a pool's memory.
struct FreeBlock {
  std::int64_t size = 0;
  std::int64_t address = 0;
  std::uint32_t block = 0;
};

/// The free blocks of a pool in the order in which a caching allocator looks through them: the smallest first, of one
/// size the lowest first (PyTorch's BlockComparatorSize).
///
/// A step frees blocks of few sizes, and of one size mostly from the highest to the lowest: so each size has its own
/// shelf, highest first, adding and removing happen at its ends, and the shelves used last are found at once. Cost: a
/// search among the sizes, and linear in the blocks of one size at worst, in their middle.
class FreeBlocks {
 public:
  using ShelfId = std::uint32_t;  ///< where the blocks of one size stand, while there are any

  ShelfId add(FreeBlock const& free);
  /// Requires the address of a block that was added to that shelf.
  void remove(ShelfId shelf, std::int64_t address);

  /// The first one of at least `size`.
  [[nodiscard]] std::optional<FreeBlock> at_least(std::int64_t size) const;
  /// The one behind `free`, which is there.
  [[nodiscard]] std::optional<FreeBlock> after(FreeBlock const& free) const;
  [[nodiscard]] std::optional<FreeBlock> last() const;
  /// All of them, in order.
  [[nodiscard]] std::vector<FreeBlock> all() const;

 private:
  struct Place {
    std::int64_t address = 0;
    std::uint32_t block = 0;
  };
  struct Shelf {
    std::int64_t size = 0;
    std::deque<Place> places;  // the highest first; none: room for a size that comes
  };
  struct OfSize {
    std::int64_t size = 0;
    ShelfId shelf = 0;
  };

  static constexpr auto kRecentBits = 6;
  [[nodiscard]] static std::size_t recent_of(std::int64_t size);
  [[nodiscard]] std::size_t find(std::int64_t size) const;
  [[nodiscard]] ShelfId shelf_of(std::int64_t size);
  [[nodiscard]] ShelfId find_or_make(std::int64_t size);
  [[nodiscard]] std::optional<FreeBlock> first_from(std::size_t index) const;

  std::vector<OfSize> sizes_;  // ascending
  std::vector<Shelf> shelves_;
  std::array<ShelfId, 1U << kRecentBits> recent_{};  // by a hash of sizes: a shelf that had one of them
};

// A step asks thousands of times.

inline FreeBlocks::ShelfId FreeBlocks::add(FreeBlock const& free) {
  auto const shelf = shelf_of(free.size);
  auto& places = shelves_[shelf].places;
  auto const at = Place{free.address, free.block};
  if (places.empty() || places.back().address > free.address)
    places.push_back(at);
  else
    places.insert(std::ranges::lower_bound(places, free.address, std::greater{}, &Place::address), at);
  return shelf;
}

inline void FreeBlocks::remove(ShelfId shelf, std::int64_t address) {
  auto& places = shelves_[shelf].places;
  if (places.back().address == address)
    places.pop_back();
  else
    places.erase(std::ranges::lower_bound(places, address, std::greater{}, &Place::address));
}

inline std::optional<FreeBlock> FreeBlocks::at_least(std::int64_t size) const {
  if (auto const recent = recent_[recent_of(size)]; recent < shelves_.size())
    if (auto const& shelf = shelves_[recent]; shelf.size == size && !shelf.places.empty())
      return FreeBlock{size, shelf.places.back().address, shelf.places.back().block};
  return first_from(find(size));
}

inline FreeBlocks::ShelfId FreeBlocks::shelf_of(std::int64_t size) {
  auto& recent = recent_[recent_of(size)];
  if (recent >= shelves_.size() || shelves_[recent].size != size) recent = find_or_make(size);
  return recent;
}

/// Sizes are multiples of 512. Multiplicative hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
inline std::size_t FreeBlocks::recent_of(std::int64_t size) {
  constexpr auto kGolden = std::uint64_t{0x9e37'79b9'7f4a'7c15};
  return static_cast<std::size_t>((static_cast<std::uint64_t>(size) * kGolden) >> (64 - kRecentBits));
}

}  // namespace twinstep::engine
