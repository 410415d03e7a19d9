#pragma once

#include "strategies/parts/communication.hpp"

namespace twinstep::strategies {

/// What a model keeps beside its parameters, such as the running statistics of batch norms: fp32, the same on every
/// rank once rank 0 has handed out its own.
class ModuleBuffers {
 public:
  explicit ModuleBuffers(StepContext& context);

  /// Hands rank 0's to all, flattened into stretches of at most 250 MiB and copied back; compute goes on afterwards.
  /// Nothing without buffers. Source: torch/nn/parallel/distributed.py, _sync_module_buffers, broadcast_bucket_size.
  void broadcast(Lane lane);

 private:
  StepContext& context_;
  BufferId buffers_;  // none if there are none
};

}  // namespace twinstep::strategies
