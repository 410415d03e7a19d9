#include "sim/engine/free_blocks.hpp"

#include <algorithm>
#include <functional>
#include <ranges>

namespace twinstep::engine {

std::optional<FreeBlock> FreeBlocks::after(FreeBlock const& free) const {
  auto const index = find(free.size);
  auto const& places = shelves_[sizes_[index].shelf].places;
  auto const here = std::ranges::lower_bound(places, free.address, std::greater{}, &Place::address);
  if (here == places.begin()) return first_from(index + 1);
  auto const next = std::prev(here);
  return FreeBlock{free.size, next->address, next->block};
}

std::optional<FreeBlock> FreeBlocks::last() const {
  for (auto const& [size, shelf] : sizes_ | std::views::reverse)
    if (auto const& places = shelves_[shelf].places; !places.empty())
      return FreeBlock{size, places.front().address, places.front().block};
  return std::nullopt;
}

std::vector<FreeBlock> FreeBlocks::all() const {
  auto found = std::vector<FreeBlock>{};
  for (auto const& [size, shelf] : sizes_)
    for (auto const& place : shelves_[shelf].places | std::views::reverse)
      found.push_back({size, place.address, place.block});
  return found;
}

/// The first entry of `size` or more.
std::size_t FreeBlocks::find(std::int64_t size) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(sizes_, size, {}, &OfSize::size) - sizes_.begin());
}

/// A neighbour whose shelf is empty becomes the entry of a new size.
FreeBlocks::ShelfId FreeBlocks::find_or_make(std::int64_t size) {
  auto index = find(size);
  auto const is_room = [&](std::size_t i) { return i < sizes_.size() && shelves_[sizes_[i].shelf].places.empty(); };
  if (index < sizes_.size() && sizes_[index].size == size) return sizes_[index].shelf;
  if (index > 0 && is_room(index - 1)) {
    --index;
  } else if (!is_room(index)) {
    sizes_.insert(sizes_.begin() + static_cast<std::ptrdiff_t>(index), {size, static_cast<ShelfId>(shelves_.size())});
    shelves_.emplace_back();
  }
  auto const shelf = sizes_[index].shelf;
  sizes_[index].size = shelves_[shelf].size = size;
  return shelf;
}

std::optional<FreeBlock> FreeBlocks::first_from(std::size_t index) const {
  for (; index < sizes_.size(); ++index)
    if (auto const& places = shelves_[sizes_[index].shelf].places; !places.empty())
      return FreeBlock{sizes_[index].size, places.back().address, places.back().block};
  return std::nullopt;
}

}  // namespace twinstep::engine
