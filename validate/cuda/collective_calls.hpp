#pragma once

#include <cstdint>
#include <span>

#include "validate/cuda/device_api.hpp"

namespace twinstep::cuda {

/// A collective as programs mean it: eight kinds, cut at `chunk_begin` into parts that may differ by one element.
struct CollectiveRequest {
  CollectiveKind kind{};
  program::Reduction reduction = program::Reduction::kSum;
  DataType type = DataType::kFp32;
  void const* send = nullptr;
  void* receive = nullptr;
  std::int64_t elements = 0;  ///< the large side
  int root = 0;
  int size = 1;   ///< ranks of the communicator
  int place = 0;  ///< this one
  /// By place, what each rank of an all_to_all sends; empty where all send `elements`.
  std::span<std::int64_t const> elements_of = {};
};

/// Enqueues it as what the library has: one of its five collectives where the parts are equal; else a group with one
/// broadcast (all_gather) or reduce (reduce_scatter) for each part, as PyTorch does; and a group of sends and receives
/// for gather, scatter and all_to_all, as nccl-tests does. Parts without elements are left out.
void communicate(DeviceApi& device, DeviceCommunicator& communicator, DeviceStream& stream,
                 CollectiveRequest const& request);

}  // namespace twinstep::cuda
