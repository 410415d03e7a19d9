#include "validate/cuda/module/nccl_part.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace twinstep::cuda {

using program::Reduction;

namespace {

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::kFp64: return ncclFloat64;
    case DataType::kFp32:
    case DataType::kTf32: return ncclFloat32;
    case DataType::kBf16: return ncclBfloat16;
    case DataType::kFp16: return ncclFloat16;
    case DataType::kInt32: return ncclInt32;
    case DataType::kFp8:  // only moved, never summed
    case DataType::kInt8: return ncclInt8;
  }
  TWINSTEP_UNREACHABLE("an element has a type");
}

ncclRedOp_t nccl_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return ncclSum;
    case Reduction::kAverage: return ncclAvg;
    case Reduction::kMax: return ncclMax;
    case Reduction::kMin: return ncclMin;
  }
  TWINSTEP_UNREACHABLE("a reduction has a kind");
}

std::size_t size(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

}  // namespace

NcclCommunicator::NcclCommunicator(int device, int world, int rank, ncclUniqueId const& id) : device_{device} {
  use_device(device);
  TWINSTEP_TRY(ncclCommInitRank(&communicator_, world, id, rank));
}

NcclCommunicator::NcclCommunicator(NcclCommunicator const& parent, int colour, int place) : device_{parent.device_} {
  use_device(device_);
  TWINSTEP_TRY(ncclCommSplit(parent.communicator_, colour, place, &communicator_, nullptr));
}

NcclCommunicator::~NcclCommunicator() {
  if (communicator_ != nullptr) static_cast<void>(ncclCommDestroy(communicator_));
}

ncclComm_t NcclCommunicator::get() {
  auto const lock = std::scoped_lock{mutex_};
  if (communicator_ == nullptr) throw DeviceError{"the communicator was aborted, because another rank failed"};
  return communicator_;
}

void NcclCommunicator::communicate(CudaStream const& stream, CollectiveCall const& call) {
  auto* const comm = get();
  auto const type = nccl_type(call.type);
  auto const reduction = nccl_reduction(call.reduction);
  auto const count = size(call.count);
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      return TWINSTEP_TRY(ncclAllReduce(call.send, call.receive, count, type, reduction, comm, stream.stream));
    case CollectiveKind::kAllGather:
      return TWINSTEP_TRY(ncclAllGather(call.send, call.receive, count, type, comm, stream.stream));
    case CollectiveKind::kReduceScatter:
      return TWINSTEP_TRY(ncclReduceScatter(call.send, call.receive, count, type, reduction, comm, stream.stream));
    case CollectiveKind::kBroadcast:
      return TWINSTEP_TRY(ncclBroadcast(call.send, call.receive, count, type, call.root, comm, stream.stream));
    case CollectiveKind::kReduce:
      return TWINSTEP_TRY(ncclReduce(call.send, call.receive, count, type, reduction, call.root, comm, stream.stream));
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kAllToAll: break;
  }
  TWINSTEP_UNREACHABLE("what NCCL has no kernel for is sent and received");
}

void NcclCommunicator::send(CudaStream const& stream, void const* from, std::int64_t count, DataType type, int peer) {
  TWINSTEP_TRY(ncclSend(from, size(count), nccl_type(type), peer, get(), stream.stream));
}

void NcclCommunicator::receive(CudaStream const& stream, void* to, std::int64_t count, DataType type, int peer) {
  TWINSTEP_TRY(ncclRecv(to, size(count), nccl_type(type), peer, get(), stream.stream));
}

void NcclCommunicator::abort() {
  auto* aborted = static_cast<ncclComm_t>(nullptr);
  {
    auto const lock = std::scoped_lock{mutex_};
    std::swap(aborted, communicator_);
  }
  if (aborted != nullptr) static_cast<void>(ncclCommAbort(aborted));
}

void NcclCommunicator::check_health() {
  auto const lock = std::scoped_lock{mutex_};
  if (communicator_ == nullptr) return;
  auto state = ncclSuccess;
  TWINSTEP_TRY(ncclCommGetAsyncError(communicator_, &state));
  if (state != ncclInProgress) check(state, "a collective in flight");
}

std::string nccl_version() {
  auto code = 0;
  TWINSTEP_TRY(ncclGetVersion(&code));
  constexpr auto kNewCode = 10'000;  // since 2.9; 2804 before
  auto const unit = code >= kNewCode ? kNewCode : 1'000;
  return fmt::format("{}.{}.{}", code / unit, code % unit / 100, code % 100);
}

std::vector<char> make_nccl_id() {
  auto id = ncclUniqueId{};
  TWINSTEP_TRY(ncclGetUniqueId(&id));
  return {std::begin(id.internal), std::end(id.internal)};
}

ncclUniqueId nccl_id(std::vector<char> const& id) {
  auto out = ncclUniqueId{};
  if (id.size() != sizeof(out.internal))
    throw DeviceError{fmt::format("a meeting id of {} bytes, expected {}", id.size(), sizeof(out.internal))};
  std::copy(id.begin(), id.end(), out.internal);
  return out;
}

}  // namespace twinstep::cuda
