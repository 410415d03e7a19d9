#pragma once

#include <array>
#include <span>
#include <vector>

#include "strategies/parts/data_parallel.hpp"

namespace twinstep::strategies {

/// Keeps what blocks hold for their backward in host memory meanwhile (`Offload::activations`).
///
/// When a block's forward has ended, a copy stream takes its kept tensors to the host; another brings them back while
/// the block after it runs backward. The host stays at most two blocks ahead of the copies in forward, and of the
/// backward passes in backward, so that about two blocks' tensors wait on the device.
/// Source: torchtune, torchtune/training/_activation_offloading.py (streams, and a bounded stash of copies in flight).
class ActivationOffload {
 public:
  explicit ActivationOffload(StepContext& context);

  /// Copies `kept` to the host after all that `compute` holds. They may be on the device no longer than that takes.
  void store(std::size_t unit, std::span<program::Region* const> kept);
  /// Makes room for them on the device, where they point to from now on, and copies them there.
  void fetch(std::size_t unit, std::span<program::Region* const> kept);
  /// What `compute` runs next waits for the last `fetch` of `unit`.
  void use(std::size_t unit);
  void after_backward();

 private:
  /// Makes the host wait for the operation noted before the last one, then notes `op`.
  void limit(OpId op);

  StepContext& context_;
  StreamId to_host_;
  StreamId to_device_;
  NameId store_name_;
  NameId fetch_name_;
  NameId limit_name_;
  std::vector<std::vector<program::Region>> host_;  // by unit
  std::vector<OpId> fetched_;                       // by unit: the last copy
  std::array<OpId, 2> pace_{};
};

}  // namespace twinstep::strategies
