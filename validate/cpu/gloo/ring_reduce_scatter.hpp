#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "validate/cpu/gloo/passages.hpp"
#include "validate/cpu/gloo/reductions.hpp"
#include "validate/cpu/gloo/staging.hpp"

namespace twinstep::cpu {

/// reduce_scatter on a ring of n places. In step s of n - 1, place p receives chunk p - s - 2 (modulo n) from the place
/// before it, adds its own numbers, and passes the sum on in the next step: chunk c begins at place c + 1 and ends,
/// combined over all, at place c. Each place sends n - 1 chunks, the fewest bytes possible. Chunks travel in segments,
/// so that one is added while the next is under way.
/// Source of the algorithm: Thakur et al., Optimization of Collective Communication Operations in MPICH, IJHPCA 2005.
template <class T>
class RingReduceScatter {
 public:
  using ChunkBegin = std::function<std::size_t(std::size_t place)>;

  /// @param slot  the first of those that this one may use: 2^24
  RingReduceScatter(gloo::Context& context, std::uint64_t slot, std::chrono::milliseconds patience)
      : place_{static_cast<std::size_t>(context.rank)},
        places_{static_cast<std::size_t>(context.size)},
        slot_{slot},
        sends_{context, patience},
        receives_{context, patience} {}

  /// Returns this place's chunk of `mine`, combined over all places, in `staging`.
  std::span<T> run(std::span<T const> mine, ChunkBegin const& begin, Reduce const& reduce, Staging& staging) {
    auto const chunk = [&](std::size_t place) { return mine.subspan(begin(place), begin(place + 1) - begin(place)); };
    auto const previous = (place_ + places_ - 1) % places_;
    auto free = staging.take<T>(mine.size() - chunk(previous).size());  // all chunks are received but that one
    auto sums = std::vector<std::span<T>>{};                            // by step
    for (std::size_t step = 0; step < steps(); ++step) {
      auto const sum = sums.emplace_back(free.first(chunk(received_in(step)).size()));
      free = free.subspan(sum.size());
      for_segments(sum.size(), [&](std::size_t at, std::size_t count) { receive(step, sum, at, count); });
    }
    auto const first = chunk(previous);
    for_segments(first.size(), [&](std::size_t at, std::size_t count) { send(0, first, at, count); });
    auto arrived = std::size_t{0};
    for (std::size_t step = 0; step < steps(); ++step) {
      auto const sum = sums[step];
      auto const own = chunk(received_in(step));
      for_segments(sum.size(), [&](std::size_t at, std::size_t count) {
        receives_.wait(arrived++);
        reduce(sum.data() + at, sum.data() + at, own.data() + at, count);
        if (step + 1 < steps()) send(step + 1, sum, at, count);
      });
    }
    sends_.wait();
    return sums.back();
  }

 private:
  static constexpr std::size_t kSegment = (std::size_t{1} << 20U) / sizeof(T);  // 1 MiB, as in Gloo's all_reduce

  [[nodiscard]] std::size_t steps() const { return places_ - 1; }
  [[nodiscard]] std::size_t received_in(std::size_t step) const { return (place_ + 2 * places_ - step - 2) % places_; }

  template <class Body>
  static void for_segments(std::size_t elements, Body const& body) {
    for (std::size_t at = 0; at < elements; at += kSegment) body(at, std::min(kSegment, elements - at));
  }
  [[nodiscard]] std::uint64_t slot(std::size_t step, std::size_t at) const {
    return slot_ + (step << 16U) + at / kSegment;
  }
  void send(std::size_t step, std::span<T const> chunk, std::size_t at, std::size_t count) {
    sends_.send(chunk.data() + at, count * sizeof(T), (place_ + 1) % places_, slot(step, at));
  }
  void receive(std::size_t step, std::span<T> chunk, std::size_t at, std::size_t count) {
    receives_.receive(chunk.data() + at, count * sizeof(T), (place_ + places_ - 1) % places_, slot(step, at));
  }

  std::size_t place_;
  std::size_t places_;
  std::uint64_t slot_;
  Passages sends_;
  Passages receives_;
};

}  // namespace twinstep::cpu
