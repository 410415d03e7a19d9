#include "sim/engine/free_blocks.hpp"

#include <algorithm>
#include <functional>

namespace twinstep::engine {

void FreeBlocks::add(FreeBlock const& free) {
  auto& places = places_of(free.size);
  auto const at = Place{free.address, free.block};
  if (places.empty() || places.back().address > free.address)
    places.push_back(at);
  else
    places.insert(std::ranges::lower_bound(places, free.address, std::greater{}, &Place::address), at);
}

void FreeBlocks::remove(FreeBlock const& free) {
  auto& places = sizes_[find(free.size)].places;
  if (places.back().address == free.address)
    places.pop_back();
  else
    places.erase(std::ranges::lower_bound(places, free.address, std::greater{}, &Place::address));
}

std::optional<FreeBlock> FreeBlocks::at_least(std::int64_t size) const {
  return first_from(find(size));
}

std::optional<FreeBlock> FreeBlocks::after(FreeBlock const& free) const {
  auto const index = find(free.size);
  auto const& places = sizes_[index].places;
  auto const here = std::ranges::lower_bound(places, free.address, std::greater{}, &Place::address);
  if (here == places.begin()) return first_from(index + 1);
  auto const next = std::prev(here);
  return FreeBlock{free.size, next->address, next->block};
}

std::optional<FreeBlock> FreeBlocks::last() const {
  for (auto size = sizes_.rbegin(); size != sizes_.rend(); ++size)
    if (!size->places.empty()) return FreeBlock{size->size, size->places.front().address, size->places.front().block};
  return std::nullopt;
}

std::vector<FreeBlock> FreeBlocks::all() const {
  auto found = std::vector<FreeBlock>{};
  for (auto const& [size, places] : sizes_)
    for (auto place = places.rbegin(); place != places.rend(); ++place)
      found.push_back({size, place->address, place->block});
  return found;
}

/// The first entry of `size` or more.
std::size_t FreeBlocks::find(std::int64_t size) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(sizes_, size, {}, &OfSize::size) - sizes_.begin());
}

/// A neighbour without blocks becomes the entry of a new size.
std::vector<FreeBlocks::Place>& FreeBlocks::places_of(std::int64_t size) {
  auto index = find(size);
  auto const is_room = [&](std::size_t i) { return i < sizes_.size() && sizes_[i].places.empty(); };
  if (index == sizes_.size() || sizes_[index].size != size) {
    if (index > 0 && is_room(index - 1))
      --index;
    else if (!is_room(index))
      sizes_.emplace(sizes_.begin() + static_cast<std::ptrdiff_t>(index));
    sizes_[index].size = size;
  }
  return sizes_[index].places;
}

std::optional<FreeBlock> FreeBlocks::first_from(std::size_t index) const {
  for (; index < sizes_.size(); ++index)
    if (auto const& [size, places] = sizes_[index]; !places.empty())
      return FreeBlock{size, places.back().address, places.back().block};
  return std::nullopt;
}

}  // namespace twinstep::engine
