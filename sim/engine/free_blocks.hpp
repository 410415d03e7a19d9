#pragma once

#include <cstdint>
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
/// list, highest first, and both adding and taking happen at its end. Cost: a search among the sizes; linear in the
/// blocks of one size at worst.
class FreeBlocks {
 public:
  void add(FreeBlock const& free);
  /// Requires one that was added.
  void remove(FreeBlock const& free);

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
  struct OfSize {
    std::int64_t size = 0;
    std::vector<Place> places;  // the highest first; none: room for a size that comes
  };

  [[nodiscard]] std::size_t find(std::int64_t size) const;
  [[nodiscard]] std::vector<Place>& places_of(std::int64_t size);
  [[nodiscard]] std::optional<FreeBlock> first_from(std::size_t index) const;

  std::vector<OfSize> sizes_;  // ascending
};

}  // namespace twinstep::engine
