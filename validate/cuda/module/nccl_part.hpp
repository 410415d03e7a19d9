#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "validate/cuda/module/cuda_calls.hpp"

namespace twinstep::cuda {

/// A rank's end of an NCCL communicator.
class NcclCommunicator final : public DeviceCommunicator {
 public:
  NcclCommunicator(int device, int world, int rank, ncclUniqueId const& id);
  NcclCommunicator(NcclCommunicator const& parent, int colour, int place);
  ~NcclCommunicator() override;

  void communicate(CudaStream const& stream, CollectiveCall const& call);
  void send(CudaStream const& stream, void const* from, std::int64_t count, DataType type, int peer);
  void receive(CudaStream const& stream, void* to, std::int64_t count, DataType type, int peer);
  void abort();
  /// Throws what NCCL found out about peers and networks since.
  void check_health();
  [[nodiscard]] int device() const { return device_; }

 private:
  [[nodiscard]] ncclComm_t get();

  int device_;
  std::mutex mutex_;  // guards against an abort by another thread
  ncclComm_t communicator_ = nullptr;
};

[[nodiscard]] std::string nccl_version();
[[nodiscard]] std::vector<char> make_nccl_id();
[[nodiscard]] ncclUniqueId nccl_id(std::vector<char> const& id);

}  // namespace twinstep::cuda
