#include "validate/cpu/environment.hpp"

#include <limits>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::cpu {

bool Environment::holds(RankId rank, std::string_view name, std::string_view scope) const {
  auto const memory = memories_.find(rank);
  return memory != memories_.end() && memory->second.contains({std::string{scope}, std::string{name}});
}

Numbers Environment::find(RankId rank, std::string_view name, std::string_view scope) const {
  if (!holds(rank, name, scope))
    throw InputError{fmt::format(
        "rank {} holds no persistent buffer {} in scope {}: only persistent buffers outlive a step, and only those of "
        "a program that has run",
        rank.index(), quoted(name), quoted(scope))};
  return memories_.at(rank).at({std::string{scope}, std::string{name}}).numbers();
}

std::vector<double> Environment::read(RankId rank, std::string_view name, std::string_view scope) const {
  return read(rank, name, scope, 0, find(rank, name, scope).size());
}

std::vector<double> Environment::read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                      std::size_t count) const {
  auto const numbers = find(rank, name, scope).part(first, count);
  auto out = std::vector<double>(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = numbers[i];
  return out;
}

void Environment::write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values) {
  auto const numbers = find(rank, name, scope);
  TWINSTEP_CHECK(numbers.size() == values.size(), "a buffer is overwritten as a whole");
  for (std::size_t i = 0; i < values.size(); ++i) numbers.set(i, values[i]);
}

Numbers Environment::persistent(program::StepProgram const& program, program::Buffer const& buffer, RankId rank) {
  auto key = Key{program.text(buffer.scope), program.text(buffer.name)};
  auto const elements = program.evaluate(buffer.elements, rank);
  auto& memory = memories_[rank];
  auto const [entry, is_new] = memory.try_emplace(std::move(key), buffer.type, elements);
  auto const numbers = entry->second.numbers();
  if (is_new) fill(program, buffer, rank, numbers);
  if (numbers.size() != static_cast<std::size_t>(elements) || numbers.type() != buffer.type)
    throw InputError{
        fmt::format("persistent buffer {} in scope {} of rank {} has {} elements of {}, but an earlier "
                    "step left {} of {}; use a fresh environment for another plan",
                    quoted(program.text(buffer.name)), twinstep::quoted(program.text(buffer.scope)), rank.index(),
                    elements, name_of(buffer.type), numbers.size(), name_of(numbers.type()))};
  return numbers;
}

void Environment::count_step() {
  ++steps_;
  for (auto& [rank, pool] : pools_) pool.end_step();
}

void Environment::fill(program::StepProgram const& program, program::Buffer const& buffer, RankId rank,
                       Numbers numbers) {
  if (!initialise_) return;
  auto const lock = std::scoped_lock{initialising_};
  auto values = std::vector<double>(numbers.size(), std::numeric_limits<double>::quiet_NaN());
  initialise_({program, buffer, rank}, values);
  for (std::size_t i = 0; i < values.size(); ++i) numbers.set(i, values[i]);
}

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
