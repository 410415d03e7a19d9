#include "validate/cpu/gloo/collectives.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/broadcast.h>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "validate/cpu/gloo/passages.hpp"
#include "validate/cpu/gloo/reductions.hpp"
#include "validate/cpu/gloo/staging.hpp"

namespace twinstep::cpu {
namespace {

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

using program::Collective;

/// One collective of numbers of type T in progress.
template <class T>
class Exchange {
 public:
  Exchange(Group& group, std::uint32_t number, Member const& member, std::span<std::int64_t const> elements,
           std::chrono::milliseconds patience)
      : group_{group},
        number_{number},
        patience_{patience},
        collective_{std::get<Collective>(*member.part)},
        root_{static_cast<std::size_t>(member.root)},
        sent_{numbers(member.sent)},
        received_{numbers(member.received)},
        elements_{elements},
        reduce_{reduction_of<T>(collective_.reduction)} {}

  void run() {
    using enum CollectiveKind;
    switch (collective_.kind) {
      case kAllReduce: return all_reduce();
      case kAllGather: return all_gather();
      case kReduceScatter: return reduce_scatter();
      case kBroadcast: return broadcast();
      case kReduce: return reduce();
      case kGather: return gather();
      case kScatter: return scatter();
      case kAllToAll: return all_to_all();
    }
    TWINSTEP_UNREACHABLE("a collective is one of eight");
  }

 private:
  static std::span<T> numbers(Numbers const& numbers) {
    if constexpr (std::is_same_v<T, double>)
      return {numbers.doubles(), numbers.size()};
    else
      return {numbers.floats(), numbers.size()};
  }
  static void copy(std::span<T const> from, std::span<T> to) {
    if (!from.empty()) std::memmove(to.data(), from.data(), from.size_bytes());
  }

  [[nodiscard]] std::size_t places() const { return group_.ranks.size(); }
  [[nodiscard]] std::size_t begin(std::size_t place) const {
    return static_cast<std::size_t>(
        chunk_begin(elements_[group_.place], static_cast<std::int64_t>(places()), static_cast<std::int64_t>(place)));
  }
  /// What of `whole` belongs to `place`.
  [[nodiscard]] std::span<T> chunk(std::span<T> whole, std::size_t place) const {
    return whole.subspan(begin(place), begin(place + 1) - begin(place));
  }
  [[nodiscard]] bool is_root() const { return group_.place == root_; }

  void finish_average(std::span<T> sums) const {
    if (collective_.reduction == program::Reduction::kAverage)
      for (auto& sum : sums) sum /= static_cast<T>(places());
  }
  template <class Options>
  void set_common(Options& options) const {
    options.setTag(number_);
    options.setTimeout(patience_);
  }

  void all_reduce() {
    copy(sent_, received_);
    if (received_.empty()) return;
    auto options = gloo::AllreduceOptions{group_.context};
    set_common(options);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(received_.data(), received_.size());
    options.setReduceFunction(reduce_);
    gloo::allreduce(options);
    finish_average(received_);
  }

  void all_gather() {
    copy(sent_, chunk(received_, group_.place));
    if (received_.empty()) return;
    auto sizes = std::vector<std::size_t>{};
    for (std::size_t place = 0; place < places(); ++place) sizes.push_back(chunk(received_, place).size());
    auto options = gloo::AllgathervOptions{group_.context};
    set_common(options);
    options.setOutput(received_.data(), sizes);
    gloo::allgatherv(options);
  }

  void broadcast() {
    if (is_root()) copy(sent_, received_);
    if (received_.empty()) return;
    auto options = gloo::BroadcastOptions{group_.context};
    set_common(options);
    options.setRoot(static_cast<int>(root_));
    options.setOutput(received_.data(), received_.size());
    gloo::broadcast(options);
  }

  /// This place's chunk of the sum, until the next collective of the group.
  std::span<T> summed_chunk() {
    auto ring = RingReduceScatter<T>{*group_.context, slot(0), patience_};
    auto const sums = ring.run(
        sent_, [this](std::size_t place) { return begin(place); }, reduce_, group_.staging);
    finish_average(sums);
    return sums;
  }

  void reduce_scatter() { copy(summed_chunk(), received_); }

  void reduce() { collect(summed_chunk()); }
  void gather() { collect(sent_); }

  /// Every place's chunk, `mine` here, goes to the root.
  void collect(std::span<T const> mine) {
    auto passages = Passages{*group_.context, patience_};
    if (!is_root()) {
      passages.send(mine.data(), mine.size_bytes(), root_, slot(kDirect));
    } else {
      copy(mine, chunk(received_, root_));
      for (std::size_t place = 0; place < places(); ++place) {
        auto const from = chunk(received_, place);
        if (place != root_) passages.receive(from.data(), from.size_bytes(), place, slot(kDirect));
      }
    }
    passages.wait();
  }

  void scatter() {
    auto passages = Passages{*group_.context, patience_};
    if (!is_root()) {
      passages.receive(received_.data(), received_.size_bytes(), root_, slot(kDirect));
    } else {
      for (std::size_t place = 0; place < places(); ++place) {
        auto const to = chunk(sent_, place);
        if (place != root_) passages.send(to.data(), to.size_bytes(), place, slot(kDirect));
      }
    }
    passages.wait();
    if (is_root()) copy(chunk(sent_, root_), received_);
  }

  void all_to_all() {
    auto sent_sizes = std::vector<std::int64_t>{};
    auto received_sizes = std::vector<std::int64_t>{};
    auto const count = static_cast<std::int64_t>(places());
    auto const me = static_cast<std::int64_t>(group_.place);
    for (std::size_t place = 0; place < places(); ++place) {
      sent_sizes.push_back(static_cast<std::int64_t>(chunk(sent_, place).size()));
      received_sizes.push_back(chunk_begin(elements_[place], count, me + 1) - chunk_begin(elements_[place], count, me));
    }
    auto const sent = apart_from_received();
    auto options = gloo::AlltoallvOptions{group_.context};
    set_common(options);
    options.setInput(sent.data(), sent_sizes);
    options.setOutput(received_.data(), received_sizes);
    gloo::alltoallv(options);
  }

  /// What is sent, copied if this place receives where it sends.
  [[nodiscard]] std::span<T> apart_from_received() {
    auto const before = std::less<T const*>{};
    auto const overlap = before(sent_.data(), received_.data() + received_.size()) &&
                         before(received_.data(), sent_.data() + sent_.size());
    if (!overlap) return sent_;
    auto const copied = group_.staging.template take<T>(sent_.size());
    copy(sent_, copied);
    return copied;
  }

  /// Messages of our own, apart from Gloo's: its slots begin with the number of a collective of its own, 1 to 8.
  [[nodiscard]] std::uint64_t slot(std::uint64_t step) const {
    constexpr std::uint64_t kOurs = 0xf0;
    return (kOurs << 56U) + (std::uint64_t{number_} << 24U) + step;
  }
  static constexpr std::uint64_t kDirect = 0xff'ffff;

  Group& group_;
  std::uint32_t number_;
  std::chrono::milliseconds patience_;
  Collective const& collective_;
  std::size_t root_;
  std::span<T> sent_;
  std::span<T> received_;
  std::span<std::int64_t const> elements_;
  Reduce reduce_;
};

}  // namespace

void carry_out(Group& group, std::uint32_t number, Member const& member, std::span<std::int64_t const> elements,
               std::chrono::milliseconds patience) {
  TWINSTEP_CHECK(group.ranks.size() > 1, "a group of one has nobody to communicate with");
  if (std::get<Collective>(*member.part).type == DataType::kFp64)
    Exchange<double>{group, number, member, elements, patience}.run();
  else
    Exchange<float>{group, number, member, elements, patience}.run();
}

}  // namespace twinstep::cpu
