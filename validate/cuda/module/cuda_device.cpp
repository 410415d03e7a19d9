#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <mutex>
#include <thread>

#include "sim/base/check.hpp"
#include "sim/base/module.hpp"
#include "validate/cuda/module/cuda_calls.hpp"
#include "validate/cuda/module/kernels.hpp"
#include "validate/cuda/module/nccl_part.hpp"
#include "validate/cuda/module/nvml.hpp"

// The module behind load_device: DeviceApi by CUDA, cuBLAS and NCCL.

namespace twinstep::cuda {
namespace {

class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(int device, Bytes size, MemoryPlace place) : place_{place} {
    use_device(device);
    auto const bytes = static_cast<std::size_t>(size.count());
    if (bytes == 0) return;
    if (place == MemoryPlace::kDevice)
      TWINSTEP_TRY(cudaMalloc(&memory_, bytes));
    else
      TWINSTEP_TRY(cudaHostAlloc(&memory_, bytes, cudaHostAllocPortable));
  }
  ~CudaMemory() override {
    // Of whatever device it is: addresses are unified.
    static_cast<void>(place_ == MemoryPlace::kDevice ? cudaFree(memory_) : cudaFreeHost(memory_));
  }
  [[nodiscard]] std::byte* data() const override { return static_cast<std::byte*>(memory_); }

 private:
  MemoryPlace place_;
  void* memory_ = nullptr;
};

/// How cuBLAS stores and computes a type.
struct BlasType {
  cudaDataType_t stored;
  cublasComputeType_t computed;
};
BlasType blas_type(DataType type) {
  switch (type) {
    case DataType::kFp64: return {CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DataType::kFp32: return {CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::kTf32: return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DataType::kBf16: return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case DataType::kFp16: return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    default: TWINSTEP_UNREACHABLE("what is not supported has been refused");
  }
}

/// A factor as cuBLAS reads it: in the type in which it computes.
class Scalar {
 public:
  Scalar(double value, DataType type)
      : wide_{value}, narrow_{static_cast<float>(value)}, is_wide_{type == DataType::kFp64} {}
  [[nodiscard]] void const* get() const { return is_wide_ ? static_cast<void const*>(&wide_) : &narrow_; }

 private:
  double wide_;
  float narrow_;
  bool is_wide_;
};

int blas_size(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw DeviceError{fmt::format("a matrix of {} rows or columns, more than cuBLAS counts", size)};
  return static_cast<int>(size);
}

class CudaDevice final : public DeviceApi {
 public:
  int device_count() override {
    auto count = 0;
    auto const result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess || count == 0)
      throw Absent{fmt::format("found no GPU ({}); run it on a machine with NVIDIA GPUs and their driver",
                               result == cudaSuccess ? "none is visible" : cudaGetErrorString(result))};
    return count;
  }

  DeviceFacts facts(int device) override {
    auto p = cudaDeviceProp{};
    TWINSTEP_TRY(cudaGetDeviceProperties(&p, device));
    return {.name = p.name,
            .compute_capability = fmt::format("{}.{}", p.major, p.minor),
            .multiprocessors = p.multiProcessorCount,
            .memory = Bytes{static_cast<std::int64_t>(p.totalGlobalMem)},
            .l2_cache = Bytes{p.l2CacheSize}};
  }

  std::optional<DeviceHealth> health(int device) override {
    auto bus = std::array<char, 32>{};
    TWINSTEP_TRY(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device));
    return health_by_nvml(bus.data());
  }

  std::string library_version() override { return nccl_version(); }

  Time now(int /*device*/) override {
    auto const time = std::chrono::steady_clock::now().time_since_epoch();
    return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(time).count() * 1000};
  }
  void sleep(int /*device*/, Duration duration) override {
    // The system wakes a sleeper late; host work is short, so it is waited for.
    auto const end = std::chrono::steady_clock::now() + std::chrono::nanoseconds{divide_up(duration.count(), 1000)};
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  std::unique_ptr<DeviceMemory> allocate(int device, Bytes size, MemoryPlace place) override {
    return std::make_unique<CudaMemory>(device, size, place);
  }
  std::unique_ptr<DeviceStream> make_stream(int device) override { return std::make_unique<CudaStream>(device); }
  std::unique_ptr<DeviceEvent> make_event(int device) override { return std::make_unique<CudaEvent>(device); }

  void record(DeviceEvent& event, DeviceStream& stream) override {
    TWINSTEP_TRY(cudaEventRecord(of(event).event, of(stream).stream));
  }
  void wait(DeviceStream& stream, DeviceEvent const& event) override {
    TWINSTEP_TRY(cudaStreamWaitEvent(of(stream).stream, of(event).event, 0));
  }
  bool has_happened(DeviceEvent const& event) override {
    use_device(of(event).device);
    auto const result = cudaEventQuery(of(event).event);
    if (result == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // or the next kernel launch would seem to have failed
      check_communicators(of(event).device);
      return false;
    }
    check(result, "cudaEventQuery");
    return true;
  }
  Duration elapsed(DeviceEvent const& from, DeviceEvent const& to) override {
    auto milliseconds = 0.0F;
    TWINSTEP_TRY(cudaEventElapsedTime(&milliseconds, of(from).event, of(to).event));
    return to_duration(Seconds{static_cast<double>(milliseconds) * 1e-3});
  }

  void copy(DeviceStream& stream, void* to, void const* from, Bytes size) override {
    if (size == Bytes{}) return;
    TWINSTEP_TRY(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(size.count()), cudaMemcpyDefault, of(stream).stream));
  }
  void fill_bytes(DeviceStream& stream, void* to, std::uint8_t value, Bytes size) override {
    if (size == Bytes{}) return;
    TWINSTEP_TRY(cudaMemsetAsync(to, value, static_cast<std::size_t>(size.count()), of(stream).stream));
  }

  /// The heads of one sequence at a time: those of an operand that has them side by side are a width apart, in rows of
  /// all of them.
  void multiply_side_by_side(DeviceStream& stream, program::Gemm const& gemm, void const* a, void const* b, void* c) {
    auto& on = of(stream);
    auto const& beside = gemm.side_by_side;
    auto const [stored, computed] = blas_type(gemm.type);
    auto const one = Scalar{1, gemm.type};
    auto const beta = Scalar{gemm.accumulate ? 1.0 : 0.0, gemm.type};
    struct Place {
      std::int64_t size, width;
      bool is_beside;
      [[nodiscard]] std::int64_t lead(std::int64_t heads) const { return is_beside ? heads * width : width; }
      [[nodiscard]] std::int64_t stride() const { return is_beside ? width : size; }
    };
    auto const in_a = Place{gemm.m * gemm.k, gemm.transpose_a ? gemm.m : gemm.k, beside.a};
    auto const in_b = Place{gemm.k * gemm.n, gemm.transpose_b ? gemm.k : gemm.n, beside.b};
    auto const in_c = Place{gemm.m * gemm.n, gemm.n, beside.c};
    auto const width = size_of(gemm.type).count();
    for (std::int64_t first = 0; first < gemm.batch; first += beside.heads) {
      auto const at = [&](auto* memory, Place const& place) {
        using Byte =
            std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(memory)>>, std::byte const, std::byte>;
        return static_cast<Byte*>(memory) + first * place.size * width;
      };
      TWINSTEP_TRY(cublasGemmStridedBatchedEx(
          on.blas, gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
          blas_size(gemm.n), blas_size(gemm.m), blas_size(gemm.k), one.get(), at(b, in_b), stored,
          blas_size(in_b.lead(beside.heads)), in_b.stride(), at(a, in_a), stored, blas_size(in_a.lead(beside.heads)),
          in_a.stride(), beta.get(), at(c, in_c), stored, blas_size(in_c.lead(beside.heads)), in_c.stride(),
          beside.heads, computed, CUBLAS_GEMM_DEFAULT));
    }
  }

  /// cuBLAS counts by columns, so it is asked for the transpose: C' = B' · A', where a row-major matrix is the
  /// transpose of what cuBLAS sees.
  void multiply(DeviceStream& stream, program::Gemm const& gemm, void const* a, void const* b, void* c) override {
    auto& on = of(stream);
    if (on.blas == nullptr) {
      TWINSTEP_TRY(cublasCreate(&on.blas));
      TWINSTEP_TRY(cublasSetStream(on.blas, on.stream));
    }
    auto const [stored, computed] = blas_type(gemm.type);
    auto const one = Scalar{1, gemm.type};
    auto const beta = Scalar{gemm.accumulate ? 1.0 : 0.0, gemm.type};
    auto const op_a = gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    auto const op_b = gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    auto const m = blas_size(gemm.m);
    auto const n = blas_size(gemm.n);
    auto const k = blas_size(gemm.k);
    auto const lead_a = gemm.transpose_a ? m : k;
    auto const lead_b = gemm.transpose_b ? k : n;
    if (gemm.side_by_side.heads > 1) return multiply_side_by_side(stream, gemm, a, b, c);
    if (gemm.batch == 1)  // by itself: cuBLAS has more kernels for it
      TWINSTEP_TRY(cublasGemmEx(on.blas, op_b, op_a, n, m, k, one.get(), b, stored, lead_b, a, stored, lead_a,
                                beta.get(), c, stored, n, computed, CUBLAS_GEMM_DEFAULT));
    else
      TWINSTEP_TRY(cublasGemmStridedBatchedEx(on.blas, op_b, op_a, n, m, k, one.get(), b, stored, lead_b,
                                              gemm.k * gemm.n, a, stored, lead_a, gemm.m * gemm.k, beta.get(), c,
                                              stored, n, gemm.m * gemm.n, blas_size(gemm.batch), computed,
                                              CUBLAS_GEMM_DEFAULT));
  }

  void compute(DeviceStream& stream, Kernel const& kernel) override {
    launch(kernel, of(stream).stream);
    check(cudaGetLastError(), "launching an elementwise kernel");
  }
  void delay(DeviceStream& stream, Duration duration) override {
    launch_delay(duration, of(stream).stream);
    check(cudaGetLastError(), "launching a delay");
  }

  std::vector<char> make_meeting_id() override { return make_nccl_id(); }
  void begin_group() override { TWINSTEP_TRY(ncclGroupStart()); }
  void end_group() override { TWINSTEP_TRY(ncclGroupEnd()); }

  std::unique_ptr<DeviceCommunicator> join(int device, int world, int rank, std::vector<char> const& id) override {
    return keep(std::make_shared<NcclCommunicator>(device, world, rank, nccl_id(id)));
  }
  std::unique_ptr<DeviceCommunicator> split(DeviceCommunicator& communicator, int colour, int place) override {
    return keep(std::make_shared<NcclCommunicator>(nccl(communicator), colour, place));
  }
  void communicate(DeviceCommunicator& communicator, DeviceStream& stream, CollectiveCall const& call) override {
    nccl(communicator).communicate(of(stream), call);
  }
  void send(DeviceCommunicator& communicator, DeviceStream& stream, void const* from, std::int64_t count, DataType type,
            int peer) override {
    nccl(communicator).send(of(stream), from, count, type, peer);
  }
  void receive(DeviceCommunicator& communicator, DeviceStream& stream, void* to, std::int64_t count, DataType type,
               int peer) override {
    nccl(communicator).receive(of(stream), to, count, type, peer);
  }
  void abort(DeviceCommunicator& communicator) override { nccl(communicator).abort(); }

 private:
  /// What callers hold; the device knows the communicator too, to look after it.
  struct Held final : DeviceCommunicator {
    explicit Held(std::shared_ptr<NcclCommunicator> shared) : communicator{std::move(shared)} {}
    std::shared_ptr<NcclCommunicator> communicator;
  };
  static NcclCommunicator& nccl(DeviceCommunicator& communicator) {
    return *static_cast<Held&>(communicator).communicator;
  }
  std::unique_ptr<DeviceCommunicator> keep(std::shared_ptr<NcclCommunicator> made) {
    auto const lock = std::scoped_lock{mutex_};
    std::erase_if(communicators_, [](auto const& known) { return known.expired(); });
    communicators_.push_back(made);
    return std::make_unique<Held>(std::move(made));
  }
  void check_communicators(int device) {
    auto const lock = std::scoped_lock{mutex_};
    for (auto const& known : communicators_)
      if (auto const communicator = known.lock(); communicator && communicator->device() == device)
        communicator->check_health();
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<NcclCommunicator>> communicators_;
};

}  // namespace
}  // namespace twinstep::cuda

TWINSTEP_MODULE_FUNCTION twinstep::cuda::DeviceApi* twinstep_make_device() {
  return std::make_unique<twinstep::cuda::CudaDevice>().release();
}
