#include <cuda_runtime_api.h>
#include <memory>
#include <nccl.h>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "validate/cuda/device_api.hpp"

// The module behind load_device: DeviceApi by CUDA and NCCL.

namespace twinstep::cuda {
namespace {

using program::CollectiveKind;

void check(cudaError_t result, char const* call) {
  if (result != cudaSuccess) throw DeviceError{fmt::format("{}: {}", call, cudaGetErrorString(result))};
}
void check(ncclResult_t result, char const* call) {
  if (result != ncclSuccess) throw DeviceError{fmt::format("{}: {}", call, ncclGetErrorString(result))};
}
#define TWINSTEP_TRY(call) check(call, #call)

/// What belongs to a local rank.
struct LocalRank {
  int device = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
};

class NcclDevice final : public DeviceApi {
 public:
  ~NcclDevice() override {
    for (auto const& local : locals_)
      if (local.communicator != nullptr) static_cast<void>(ncclCommDestroy(local.communicator));
  }

  int device_count() override {
    auto count = 0;
    auto const result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess || count == 0)
      throw Absent{fmt::format("found no GPU ({}); run it on a machine with NVIDIA GPUs and their driver",
                               result == cudaSuccess ? "none is visible" : cudaGetErrorString(result))};
    return count;
  }

  std::string device_name(int device) override {
    auto properties = cudaDeviceProp{};
    TWINSTEP_TRY(cudaGetDeviceProperties(&properties, device));
    return properties.name;
  }

  std::string library_version() override {
    auto code = 0;
    TWINSTEP_TRY(ncclGetVersion(&code));
    constexpr auto kNewCode = 10'000;  // since 2.9; 2804 before
    auto const unit = code >= kNewCode ? kNewCode : 1'000;
    return fmt::format("{}.{}.{}", code / unit, code % unit / 100, code % 100);
  }

  std::vector<char> make_meeting_id() override {
    auto id = ncclUniqueId{};
    TWINSTEP_TRY(ncclGetUniqueId(&id));
    return {std::begin(id.internal), std::end(id.internal)};
  }

  void connect(Ranks const& ranks, std::vector<char> const& meeting_id) override {
    ranks_ = ranks;
    locals_.resize(static_cast<std::size_t>(ranks.local_ranks));
    auto id = ncclUniqueId{};
    if (meeting_id.empty())
      TWINSTEP_TRY(ncclGetUniqueId(&id));
    else if (meeting_id.size() == sizeof(id.internal))
      std::copy(meeting_id.begin(), meeting_id.end(), id.internal);
    else
      throw DeviceError{fmt::format("a meeting id of {} bytes, expected {}", meeting_id.size(), sizeof(id.internal))};
    TWINSTEP_TRY(ncclGroupStart());
    for (int rank = 0; rank < ranks.local_ranks; ++rank) {
      auto& local = use(rank);
      local.device = ranks.first_device + rank;
      TWINSTEP_TRY(cudaSetDevice(local.device));
      TWINSTEP_TRY(ncclCommInitRank(&local.communicator, ranks.world, id, ranks.first_rank + rank));
    }
    TWINSTEP_TRY(ncclGroupEnd());
    for (int rank = 0; rank < ranks.local_ranks; ++rank) {
      auto& local = use(rank);
      TWINSTEP_TRY(cudaStreamCreateWithFlags(&local.stream, cudaStreamNonBlocking));
      TWINSTEP_TRY(cudaEventCreate(&local.start));
      TWINSTEP_TRY(cudaEventCreate(&local.stop));
    }
  }

  void* allocate(int rank, Bytes size) override {
    use(rank);
    void* memory = nullptr;
    TWINSTEP_TRY(cudaMalloc(&memory, static_cast<std::size_t>(size.count())));
    return memory;
  }

  void release(int rank, void* memory) override {
    static_cast<void>(cudaSetDevice(locals_[static_cast<std::size_t>(rank)].device));
    static_cast<void>(cudaFree(memory));  // runs in destructors
  }

  void upload(int rank, void* to, std::span<float const> from) override {
    auto const& local = use(rank);
    TWINSTEP_TRY(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, local.stream));
    TWINSTEP_TRY(cudaStreamSynchronize(local.stream));
  }

  void download(int rank, std::span<float> to, void const* from) override {
    auto const& local = use(rank);
    TWINSTEP_TRY(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, local.stream));
    TWINSTEP_TRY(cudaStreamSynchronize(local.stream));
  }

  void begin_group() override { TWINSTEP_TRY(ncclGroupStart()); }
  void end_group() override { TWINSTEP_TRY(ncclGroupEnd()); }

  void launch(int rank, CollectiveCall const& call) override {
    auto const& local = use(rank);
    auto const& [kind, send, receive, count, root] = call;
    auto* const comm = local.communicator;
    auto* const stream = local.stream;
    switch (kind) {
      case CollectiveKind::kAllReduce:
        return TWINSTEP_TRY(ncclAllReduce(send, receive, count, ncclFloat, ncclSum, comm, stream));
      case CollectiveKind::kAllGather:
        return TWINSTEP_TRY(ncclAllGather(send, receive, count, ncclFloat, comm, stream));
      case CollectiveKind::kReduceScatter:
        return TWINSTEP_TRY(ncclReduceScatter(send, receive, count, ncclFloat, ncclSum, comm, stream));
      case CollectiveKind::kBroadcast:
        return TWINSTEP_TRY(ncclBroadcast(send, receive, count, ncclFloat, root, comm, stream));
      case CollectiveKind::kReduce:
        return TWINSTEP_TRY(ncclReduce(send, receive, count, ncclFloat, ncclSum, root, comm, stream));
      case CollectiveKind::kGather:
      case CollectiveKind::kScatter:
      case CollectiveKind::kAllToAll: return send_and_receive(rank, call);
    }
    TWINSTEP_UNREACHABLE("a collective has a kind");
  }

  void start_clock(int rank) override {
    auto const& local = use(rank);
    TWINSTEP_TRY(cudaEventRecord(local.start, local.stream));
  }
  void stop_clock(int rank) override {
    auto const& local = use(rank);
    TWINSTEP_TRY(cudaEventRecord(local.stop, local.stream));
  }
  void wait(int rank) override { TWINSTEP_TRY(cudaStreamSynchronize(use(rank).stream)); }

  Duration elapsed(int rank) override {
    auto const& local = use(rank);
    auto milliseconds = 0.0F;
    TWINSTEP_TRY(cudaEventElapsedTime(&milliseconds, local.start, local.stop));
    return to_duration(Seconds{static_cast<double>(milliseconds) * 1e-3});
  }

 private:
  LocalRank& use(int rank) {
    auto& local = locals_[static_cast<std::size_t>(rank)];
    if (local.stream != nullptr) TWINSTEP_TRY(cudaSetDevice(local.device));
    return local;
  }

  /// What the library has no kernel for is a group of sends and receives, as in nccl-tests.
  void send_and_receive(int rank, CollectiveCall const& call) {
    auto const& local = use(rank);
    auto const own = ranks_.first_rank + rank;
    auto const sends_shares =
        call.kind != CollectiveKind::kGather && (call.kind == CollectiveKind::kAllToAll || own == call.root);
    auto const receives_shares =
        call.kind != CollectiveKind::kScatter && (call.kind == CollectiveKind::kAllToAll || own == call.root);
    auto const send = [&](int peer, std::size_t share) {
      TWINSTEP_TRY(ncclSend(static_cast<float const*>(call.send) + share * call.count, call.count, ncclFloat, peer,
                            local.communicator, local.stream));
    };
    auto const receive = [&](int peer, std::size_t share) {
      TWINSTEP_TRY(ncclRecv(static_cast<float*>(call.receive) + share * call.count, call.count, ncclFloat, peer,
                            local.communicator, local.stream));
    };
    TWINSTEP_TRY(ncclGroupStart());
    for (int peer = 0; peer < ranks_.world; ++peer) {
      if (sends_shares) send(peer, static_cast<std::size_t>(peer));
      if (receives_shares) receive(peer, static_cast<std::size_t>(peer));
    }
    if (call.kind == CollectiveKind::kGather) send(call.root, 0);
    if (call.kind == CollectiveKind::kScatter) receive(call.root, 0);
    TWINSTEP_TRY(ncclGroupEnd());
  }

  Ranks ranks_;
  std::vector<LocalRank> locals_;
};

}  // namespace
}  // namespace twinstep::cuda

extern "C" twinstep::cuda::DeviceApi* twinstep_make_device() {
  return std::make_unique<twinstep::cuda::NcclDevice>().release();
}
