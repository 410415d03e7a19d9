#include "validate/cpu/storage_pool.hpp"

namespace twinstep::cpu {

Storage StoragePool::take(DataType type, std::int64_t elements, Fresh fresh) {
  auto lock = std::unique_lock{mutex_};
  auto& shelf = shelves_[{type, static_cast<std::size_t>(elements)}];
  shelf.is_used = true;
  if (shelf.idle.empty()) {
    lock.unlock();
    return {type, elements};
  }
  auto storage = std::move(shelf.idle.back());
  shelf.idle.pop_back();
  lock.unlock();
  if (fresh == Fresh::kPoisoned) storage.poison();
  return storage;
}

void StoragePool::give_back(Storage storage) {
  auto const numbers = storage.numbers();
  auto const lock = std::scoped_lock{mutex_};
  shelves_[{numbers.type(), numbers.size()}].idle.push_back(std::move(storage));
}

void StoragePool::end_step() {
  auto const lock = std::scoped_lock{mutex_};
  std::erase_if(shelves_, [](auto const& shelf) { return !shelf.second.is_used; });
  for (auto& [size, shelf] : shelves_) shelf.is_used = false;
}

}  // namespace twinstep::cpu
