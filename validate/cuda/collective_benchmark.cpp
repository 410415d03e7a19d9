#include "validate/cuda/collective_benchmark.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/collective_kind.hpp"
#include "validate/cuda/collective_calls.hpp"
#include "validate/cuda/patience.hpp"

namespace twinstep::cuda {
namespace {

constexpr int kRoot = 0;

/// The values that ranks begin with and must end with. All are small whole numbers, so that fp32 sums of up to a
/// million ranks are exact in any order.
class TestValues {
 public:
  /// @param count  elements of a share, or of the buffer where there are none
  TestValues(CollectiveKind kind, int world, std::size_t count);

  /// Element `i` of what rank `rank` sends.
  [[nodiscard]] float sent(int rank, std::size_t i) const {
    return static_cast<float>((static_cast<std::size_t>(rank) * kStride + i) % kPeriod);
  }
  /// Element `i` of what rank `rank` has received in the end.
  [[nodiscard]] float received(int rank, std::size_t i) const;

  /// How many elements a rank sends and receives; 0 where it has no part (all but the root of a reduce receive none).
  [[nodiscard]] std::size_t sends(int rank) const;
  [[nodiscard]] std::size_t receives(int rank) const;

 private:
  static constexpr std::size_t kPeriod = 13;
  static constexpr std::size_t kStride = 5;

  CollectiveKind kind_;
  int world_;
  std::size_t count_;
  std::vector<float> sums_;  ///< over all ranks, of element i at i % kPeriod
};

TestValues::TestValues(CollectiveKind kind, int world, std::size_t count)
    : kind_{kind}, world_{world}, count_{count}, sums_(kPeriod) {
  for (int rank = 0; rank < world; ++rank)
    for (std::size_t i = 0; i < kPeriod; ++i) sums_[i] += sent(rank, i);
}

float TestValues::received(int rank, std::size_t i) const {
  auto const share = static_cast<int>(i / count_);           // of what is cut in shares: whose
  auto const at = i % count_;                                // … and where in it
  auto const own = static_cast<std::size_t>(rank) * count_;  // where this rank's share begins on the large side
  switch (kind_) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce: return sums_[i % kPeriod];
    case CollectiveKind::kBroadcast: return sent(kRoot, i);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return sent(share, at);
    case CollectiveKind::kReduceScatter: return sums_[(own + i) % kPeriod];
    case CollectiveKind::kScatter: return sent(kRoot, own + i);
    case CollectiveKind::kAllToAll: return sent(share, own + at);
  }
  TWINSTEP_UNREACHABLE("a collective has a kind");
}

std::size_t TestValues::sends(int rank) const {
  auto const all = count_ * static_cast<std::size_t>(world_);
  switch (kind_) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return count_;
    case CollectiveKind::kBroadcast: return rank == kRoot ? count_ : 0;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return all;
    case CollectiveKind::kScatter: return rank == kRoot ? all : 0;
  }
  TWINSTEP_UNREACHABLE("a collective has a kind");
}

std::size_t TestValues::receives(int rank) const {
  auto const all = count_ * static_cast<std::size_t>(world_);
  switch (kind_) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScatter: return count_;
    case CollectiveKind::kReduce: return rank == kRoot ? count_ : 0;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return all;
    case CollectiveKind::kGather: return rank == kRoot ? all : 0;
  }
  TWINSTEP_UNREACHABLE("a collective has a kind");
}

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

/// A local rank: its stream, two events, and two buffers as long as the largest size.
struct LocalRank {
  LocalRank(DeviceApi& device, int on, Bytes size)
      : send{device.allocate(on, size, MemoryPlace::kDevice)},
        receive{device.allocate(on, size, MemoryPlace::kDevice)},
        stream{device.make_stream(on)},
        start{device.make_event(on)},
        stop{device.make_event(on)} {}

  std::unique_ptr<DeviceMemory> send;
  std::unique_ptr<DeviceMemory> receive;
  std::unique_ptr<DeviceStream> stream;  // after the memory, which outlives it
  std::unique_ptr<DeviceEvent> start;
  std::unique_ptr<DeviceEvent> stop;
};

class Benchmark {
 public:
  Benchmark(DeviceApi& device, Connection const& connection, BenchmarkOptions const& options)
      : device_{device}, connection_{connection}, ranks_{connection.ranks}, options_{options} {
    for (int local = 0; local < ranks_.local_ranks; ++local)
      locals_.push_back(std::make_unique<LocalRank>(device, ranks_.device_of(local), options.largest));
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
  struct Buffers {
    std::byte* send;
    std::byte* receive;
  };

  [[nodiscard]] LocalRank& at(int local) const { return *locals_[static_cast<std::size_t>(local)]; }

  [[nodiscard]] Buffers buffers(int local, std::size_t count, bool is_in_place) const {
    auto* const receive = at(local).receive->data();
    if (!is_in_place) return {at(local).send->data(), receive};
    auto const share = static_cast<std::size_t>(ranks_.rank_of(local)) * count * kElementSize;
    auto const side = share_side(options_.kind);
    return {receive + (side == ShareSide::kSend ? share : 0), receive + (side == ShareSide::kReceive ? share : 0)};
  }

  void launch_all(std::size_t count, bool is_in_place) {
    auto const elements = static_cast<std::int64_t>(count) * (has_shares(options_.kind) ? ranks_.world : 1);
    device_.begin_group();
    for (int local = 0; local < ranks_.local_ranks; ++local) {
      auto const [send, receive] = buffers(local, count, is_in_place);
      communicate(device_, *connection_.worlds[static_cast<std::size_t>(local)], *at(local).stream,
                  {.kind = options_.kind,
                   .send = send,
                   .receive = receive,
                   .elements = elements,
                   .size = ranks_.world,
                   .place = ranks_.rank_of(local)});
    }
    device_.end_group();
  }

  void record_all(std::unique_ptr<DeviceEvent> LocalRank::*event) {
    for (auto const& local : locals_) device_.record(*((*local).*event), *local->stream);
  }
  /// Waits for everything enqueued up to the last stop event.
  void wait_for_all() {
    for (auto const& local : locals_) wait_until_happened(device_, *local->stop);
  }

  BenchmarkTiming measure_half(std::size_t count, bool is_in_place) {
    for (int i = 0; i < options_.warm_up; ++i) launch_all(count, is_in_place);
    record_all(&LocalRank::stop);
    wait_for_all();
    record_all(&LocalRank::start);
    for (int i = 0; i < options_.iterations; ++i) launch_all(count, is_in_place);
    record_all(&LocalRank::stop);
    wait_for_all();
    auto slowest = Duration{};
    for (auto const& local : locals_) slowest = std::max(slowest, device_.elapsed(*local->start, *local->stop));
    return {.time = slowest / options_.iterations, .wrong = count_wrong(count, is_in_place)};
  }

  void move(int local, void* to, void const* from, std::vector<float> const& host) {
    auto& rank = at(local);
    device_.copy(*rank.stream, to, from, Bytes{static_cast<std::int64_t>(host.size() * kElementSize)});
    device_.record(*rank.stop, *rank.stream);
    wait_until_happened(device_, *rank.stop);
  }

  /// Runs once on known values and compares what each local rank received.
  std::int64_t count_wrong(std::size_t count, bool is_in_place) {
    auto const values = TestValues{options_.kind, ranks_.world, count};
    auto host = std::vector<float>{};
    for (int local = 0; local < ranks_.local_ranks; ++local) {
      auto const id = ranks_.rank_of(local);
      host.assign(std::max(values.sends(id), values.receives(id)), kUntouched);
      if (!host.empty()) move(local, at(local).receive->data(), host.data(), host);
      host.resize(values.sends(id));
      for (std::size_t i = 0; i < host.size(); ++i) host[i] = values.sent(id, i);
      if (!host.empty()) move(local, buffers(local, count, is_in_place).send, host.data(), host);
    }
    launch_all(count, is_in_place);
    auto wrong = std::int64_t{0};
    for (int local = 0; local < ranks_.local_ranks; ++local) {
      auto const id = ranks_.rank_of(local);
      host.resize(values.receives(id));
      if (host.empty()) continue;
      move(local, host.data(), buffers(local, count, is_in_place).receive, host);
      for (std::size_t i = 0; i < host.size(); ++i) wrong += host[i] != values.received(id, i) ? 1 : 0;
    }
    return wrong;
  }

  DeviceApi& device_;
  Connection const& connection_;
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

void run_benchmark(DeviceApi& device, Connection const& connection, BenchmarkOptions const& options,
                   std::function<void(BenchmarkRow const&)> const& take) {
  TWINSTEP_CHECK(options.factor >= 2 && options.iterations > 0, "a sweep goes on and measures something");
  auto benchmark = Benchmark{device, connection, options};
  for (auto size = options.smallest; size <= options.largest; size *= options.factor) {
    auto const count = count_for(size, options.kind, connection.ranks.world);
    if (count > 0) take(benchmark.measure(count));
    if (size.count() > options.largest.count() / options.factor) break;  // the next one may not be countable
  }
}

}  // namespace twinstep::cuda
