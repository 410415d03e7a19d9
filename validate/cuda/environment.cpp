#include "validate/cuda/environment.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"
#include "validate/cuda/elements.hpp"
#include "validate/cuda/patience.hpp"

namespace twinstep::cuda {

using program::MemoryCategory;
using program::MemorySpace;

int Environment::device_of(RankId rank) const {
  auto const local = static_cast<int>(rank.index()) - ranks_.first_rank;
  TWINSTEP_CHECK(local >= 0 && local < ranks_.local_ranks, "a process knows the memory of its own ranks");
  return ranks_.device_of(local);
}

bool Environment::holds(RankId rank, std::string_view name, std::string_view scope) const {
  auto const lock = std::scoped_lock{mutex_};
  return held_.contains({rank, std::string{scope}, std::string{name}});
}

Environment::Held const& Environment::find(RankId rank, std::string_view name, std::string_view scope) const {
  auto const lock = std::scoped_lock{mutex_};
  auto const found = held_.find({rank, std::string{scope}, std::string{name}});
  if (found != held_.end()) return found->second;
  throw InputError{fmt::format(
      "rank {} holds no persistent buffer {} in scope {}: only persistent buffers outlive a step, and only those of a "
      "program that has run",
      rank.index(), quoted(name), quoted(scope))};
}

void Environment::copy_and_wait(RankId rank, void* to, void const* from, Bytes size) const {
  auto const on = device_of(rank);
  auto const stream = device_.make_stream(on);
  auto const end = device_.make_event(on);
  device_.copy(*stream, to, from, size);
  device_.record(*end, *stream);
  wait_until_happened(device_, *end);
}

std::vector<double> Environment::read(RankId rank, std::string_view name, std::string_view scope) const {
  return read(rank, name, scope, 0, static_cast<std::size_t>(find(rank, name, scope).elements));
}

std::vector<double> Environment::read(RankId rank, std::string_view name, std::string_view scope, std::size_t first,
                                      std::size_t count) const {
  auto const& held = find(rank, name, scope);
  TWINSTEP_CHECK(first + count <= static_cast<std::size_t>(held.elements), "what is read lies inside its buffer");
  auto const width = static_cast<std::size_t>(size_of(held.type).count());
  auto raw = std::vector<std::byte>(count * width);
  copy_and_wait(rank, raw.data(), held.memory->data() + first * width, Bytes{static_cast<std::int64_t>(raw.size())});
  auto values = std::vector<double>(count);
  decode(raw.data(), held.type, values);
  return values;
}

void Environment::write(RankId rank, std::string_view name, std::string_view scope, std::span<double const> values) {
  auto const& held = find(rank, name, scope);
  TWINSTEP_CHECK(values.size() == static_cast<std::size_t>(held.elements), "a buffer is overwritten as a whole");
  auto raw = std::vector<std::byte>(values.size() * static_cast<std::size_t>(size_of(held.type).count()));
  encode(values, held.type, raw.data());
  copy_and_wait(rank, held.memory->data(), raw.data(), Bytes{static_cast<std::int64_t>(raw.size())});
}

void Environment::clear() {
  auto const lock = std::scoped_lock{mutex_};
  held_.clear();
  steps_ = 0;
}

void* Environment::persistent(program::StepProgram const& program, program::Buffer const& buffer, RankId rank) {
  auto const elements = program.evaluate(buffer.elements, rank);
  auto const key = Key{rank, program.text(buffer.scope), program.text(buffer.name)};
  auto* held = static_cast<Held*>(nullptr);
  auto is_new = false;
  {
    auto const lock = std::scoped_lock{mutex_};
    auto const [entry, was_inserted] = held_.try_emplace(key);
    held = &entry->second;  // addresses in a map are stable, and a rank touches only its own
    is_new = was_inserted;
  }
  if (is_new) {
    auto const place = buffer.space == MemorySpace::kDevice ? MemoryPlace::kDevice : MemoryPlace::kPinnedHost;
    *held = {device_.allocate(device_of(rank), size_of(buffer.type) * elements, place), elements, buffer.type,
             buffer.space};
    fill(program, buffer, rank, held->memory->data());
  }
  if (held->elements != elements || held->type != buffer.type || held->space != buffer.space)
    throw InputError{fmt::format(
        "persistent buffer {} in scope {} of rank {} has {} elements of {} in {} memory, but an earlier step left {} "
        "of "
        "{} in {} memory; use a fresh environment for another plan",
        quoted(program.text(buffer.name)), twinstep::quoted(program.text(buffer.scope)), rank.index(), elements,
        name_of(buffer.type), name_of(buffer.space), held->elements, name_of(held->type), name_of(held->space))};
  return held->memory->data();
}

void Environment::fill(program::StepProgram const& program, program::Buffer const& buffer, RankId rank, void* to) {
  auto const elements = program.evaluate(buffer.elements, rank);
  if (elements == 0) return;
  auto const size = size_of(buffer.type) * elements;
  if (initialise_ && is_convertible(buffer.type)) {
    auto values = std::vector<double>(static_cast<std::size_t>(elements), std::numeric_limits<double>::quiet_NaN());
    {
      auto const lock = std::scoped_lock{mutex_};
      initialise_({program, buffer, rank}, values);
    }
    auto raw = std::vector<std::byte>(static_cast<std::size_t>(size.count()));
    encode(values, buffer.type, raw.data());
    copy_and_wait(rank, to, raw.data(), size);
  } else if (buffer.category == MemoryCategory::kOptimizer || buffer.type == DataType::kInt32 ||
             !is_convertible(buffer.type)) {
    auto const zeros = std::vector<std::byte>(static_cast<std::size_t>(size.count()));
    copy_and_wait(rank, to, zeros.data(), size);
  } else {
    fill_with_noise(rank, static_cast<std::byte*>(to), elements, buffer.type);
  }
}

/// Multiples of 2^-7 in [-1/16, 1/16), exact in every type: a block of them, doubled on the device until it is full.
void Environment::fill_with_noise(RankId rank, std::byte* to, std::int64_t elements, DataType type) {
  constexpr std::int64_t kBlock = (1 << 20) + 7;  // odd, so that rows of a matrix differ
  auto values = std::vector<double>(static_cast<std::size_t>(std::min(elements, kBlock)));
  auto state = std::uint64_t{rank.index() + 1};
  for (auto& value : values) {
    // Knuth's MMIX generator, The Art of Computer Programming, volume 2, 3.3.4.
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = (static_cast<double>(state >> 60) - 8) / 128;
  }
  auto const width = static_cast<std::size_t>(size_of(type).count());
  auto raw = std::vector<std::byte>(values.size() * width);
  encode(values, type, raw.data());
  copy_and_wait(rank, to, raw.data(), Bytes{static_cast<std::int64_t>(raw.size())});
  for (auto done = static_cast<std::int64_t>(values.size()); done < elements;) {
    auto const more = std::min(done, elements - done);
    copy_and_wait(rank, to + static_cast<std::size_t>(done) * width, to, size_of(type) * more);
    done += more;
  }
}

}  // namespace twinstep::cuda
