#include "validate/cuda/collective_benchmark.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/base/check.hpp"
#include "validate/cuda/test_values.hpp"

namespace twinstep::cuda {

using program::CollectiveKind;

namespace {

constexpr std::size_t kElementSize = sizeof(float);
constexpr float kUntouched = -1;  // no rank sends it

/// Whether a rank's share lies inside its buffer of the large side when send and receive buffer are one: at the sender
/// (all_gather) or at the receiver (reduce_scatter).
enum class ShareSide : std::uint8_t { kNone, kSend, kReceive };

ShareSide share_side(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return ShareSide::kSend;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter: return ShareSide::kReceive;
    default: return ShareSide::kNone;
  }
}

/// Device memory of one rank, given back at the end.
class Buffer {
 public:
  Buffer(DeviceApi& device, int rank, Bytes size)
      : device_{device}, rank_{rank}, memory_{device.allocate(rank, size)} {}
  Buffer(Buffer const&) = delete;
  Buffer& operator=(Buffer const&) = delete;
  ~Buffer() { device_.release(rank_, memory_); }

  [[nodiscard]] float* at(std::size_t element) const { return static_cast<float*>(memory_) + element; }

 private:
  DeviceApi& device_;
  int rank_;
  void* memory_;
};

/// Two buffers for each local rank, as long as the largest size.
struct LocalRank {
  LocalRank(DeviceApi& device, int rank, Bytes size) : send{device, rank, size}, receive{device, rank, size} {}
  Buffer send;
  Buffer receive;
};

class Benchmark {
 public:
  Benchmark(DeviceApi& device, Ranks const& ranks, BenchmarkOptions const& options)
      : device_{device}, ranks_{ranks}, options_{options} {
    for (int rank = 0; rank < ranks.local_ranks; ++rank)
      locals_.push_back(std::make_unique<LocalRank>(device, rank, options.largest));
  }

  [[nodiscard]] BenchmarkRow measure(std::size_t count) {
    auto const elements = has_shares(options_.kind) ? count * static_cast<std::size_t>(ranks_.world) : count;
    auto row = BenchmarkRow{.size = Bytes{static_cast<std::int64_t>(elements * kElementSize)},
                            .count = static_cast<std::int64_t>(count),
                            .out_of_place = measure_half(count, false)};
    if (options_.kind != CollectiveKind::kAllToAll) row.in_place = measure_half(count, true);
    return row;
  }

 private:
  [[nodiscard]] std::size_t global(int rank) const { return static_cast<std::size_t>(ranks_.first_rank + rank); }

  [[nodiscard]] CollectiveCall call(int rank, std::size_t count, bool is_in_place) const {
    auto const& local = *locals_[static_cast<std::size_t>(rank)];
    auto result =
        CollectiveCall{.kind = options_.kind, .send = local.send.at(0), .receive = local.receive.at(0), .count = count};
    if (!is_in_place) return result;
    auto const share = global(rank) * count;
    auto const side = share_side(options_.kind);
    result.send = local.receive.at(side == ShareSide::kSend ? share : 0);
    result.receive = local.receive.at(side == ShareSide::kReceive ? share : 0);
    return result;
  }

  void launch_all(std::size_t count, bool is_in_place) {
    device_.begin_group();
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) device_.launch(rank, call(rank, count, is_in_place));
    device_.end_group();
  }

  void wait_for_all() {
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) device_.wait(rank);
  }

  BenchmarkTiming measure_half(std::size_t count, bool is_in_place) {
    for (int i = 0; i < options_.warm_up; ++i) launch_all(count, is_in_place);
    wait_for_all();
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) device_.start_clock(rank);
    for (int i = 0; i < options_.iterations; ++i) launch_all(count, is_in_place);
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) device_.stop_clock(rank);
    wait_for_all();
    auto slowest = Duration{};
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) slowest = std::max(slowest, device_.elapsed(rank));
    return {.time = slowest / options_.iterations, .wrong = count_wrong(count, is_in_place)};
  }

  /// Runs once on known values and compares what each local rank received.
  std::int64_t count_wrong(std::size_t count, bool is_in_place) {
    auto const values = TestValues{options_.kind, ranks_.world, count};
    auto host = std::vector<float>{};
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) {
      auto const& local = *locals_[static_cast<std::size_t>(rank)];
      auto const id = static_cast<int>(global(rank));
      host.assign(std::max(values.sends(id), values.receives(id)), kUntouched);
      if (!host.empty()) device_.upload(rank, local.receive.at(0), host);
      host.resize(values.sends(id));
      for (std::size_t i = 0; i < host.size(); ++i) host[i] = values.sent(id, i);
      // What is sent is only read.
      if (!host.empty()) device_.upload(rank, const_cast<void*>(call(rank, count, is_in_place).send), host);
    }
    launch_all(count, is_in_place);
    wait_for_all();
    auto wrong = std::int64_t{0};
    for (int rank = 0; rank < ranks_.local_ranks; ++rank) {
      auto const id = static_cast<int>(global(rank));
      host.resize(values.receives(id));
      if (host.empty()) continue;
      device_.download(rank, host, call(rank, count, is_in_place).receive);
      for (std::size_t i = 0; i < host.size(); ++i) wrong += host[i] != values.received(id, i) ? 1 : 0;
    }
    return wrong;
  }

  DeviceApi& device_;
  Ranks ranks_;
  BenchmarkOptions options_;
  std::vector<std::unique_ptr<LocalRank>> locals_;
};

/// What the library's call names for `size` bytes on the large side. Shares are multiples of 16 bytes, as nccl-tests
/// makes them; 0 if the size is too small for that.
std::size_t count_for(Bytes size, CollectiveKind kind, int world) {
  constexpr std::size_t kShareElements = 16 / kElementSize;
  auto const elements = static_cast<std::size_t>(size.count()) / kElementSize;
  if (!has_shares(kind)) return elements;
  auto const share = elements / static_cast<std::size_t>(world);
  return share - share % kShareElements;
}

}  // namespace

void run_benchmark(DeviceApi& device, Ranks const& ranks, BenchmarkOptions const& options,
                   std::function<void(BenchmarkRow const&)> const& take) {
  TWINSTEP_CHECK(options.factor >= 2 && options.iterations > 0, "a sweep goes on and measures something");
  auto benchmark = Benchmark{device, ranks, options};
  for (auto size = options.smallest; size <= options.largest; size *= options.factor) {
    auto const count = count_for(size, options.kind, ranks.world);
    if (count > 0) take(benchmark.measure(count));
    if (size.count() > options.largest.count() / options.factor) break;  // the next one may not be countable
  }
}

}  // namespace twinstep::cuda
