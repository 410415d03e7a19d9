#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.hpp"

namespace twinstep::strategies {

/// In which order a stage of a pipeline computes its passes; see strategies/mesh/schedule.hpp.
enum class PipelineSchedule : std::uint8_t {
  kGpipe,
  kOneForwardOneBackward,
  kInterleaved,
  kInterleavedZeroBubble,
  kZeroBubbleV,
  kDualPipeV
};

/// Whether chunks lie in the shape of a V: the model's end is on the first stage, where its beginning is.
[[nodiscard]] constexpr bool is_v_shaped(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleV || schedule == PipelineSchedule::kDualPipeV;
}

/// When a stage exchanges tensors with its neighbours.
enum class PipelineExchange : std::uint8_t {
  /// Sends and receives run beside compute; a pass waits for its own input alone. Source: Megatron-LM's
  /// overlap_p2p_comm, PyTorch's multi-stage schedules.
  kOverlapped,
  /// Compute waits for each exchange, those of a steady pair in one batch, and the host for the device. Source:
  /// Megatron-LM, megatron/core/pipeline_parallel/p2p_communication.py (batch_p2p_comm, batch_p2p_sync).
  kBatched,
  /// Compute waits for each send and each receive, one after another. Source: DeepSpeed, runtime/pipe/p2p.py.
  kBlocking
};

/// How a model is cut into stages, and what each of them does when.
struct Pipeline {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  ///< of the model on each stage: Megatron's virtual stages
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  PipelineExchange exchange = PipelineExchange::kOverlapped;
  /// Micro-batches that interleaving runs through one chunk before the next. 0: as many as there are in each of
  /// max(1, micro-batches / stages) rounds, as PyTorch has it.
  std::int64_t group = 0;
  /// Layers of each chunk of each stage in the model's order; empty for as even as they get.
  std::vector<std::int64_t> layers;
  /// Embedding and head count as a layer each where layers are shared out evenly
  /// (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split).
  bool counts_embedding = false;
  bool counts_head = false;
  bool operator==(Pipeline const&) const = default;

  [[nodiscard]] constexpr std::int64_t parts() const { return stages * chunks; }
};

/// How the ranks of a job divide the work of a step. Ranks count up along `tensor` first, then `data`, then the stages
/// (Megatron-LM's order tp-cp-ep-dp-pp; torchtitan's and DeepSpeed's meshes agree).
struct Parallel {
  std::int64_t data = 1;  ///< ranks that compute the same part of the model on different samples
  /// Ranks that states are sharded over, neighbours among those of `data`; the groups are replicas of each other. 0 for
  /// all.
  std::int64_t shard_group = 0;
  std::int64_t tensor = 1;  ///< ranks that share the work of every layer
  /// Between the linear layers of a block each of them has its part of the sequence (Korthikanti et al., arXiv
  /// 2205.05198, section 4.2.2).
  bool sequence = false;
  Pipeline pipeline;
  bool operator==(Parallel const&) const = default;

  [[nodiscard]] constexpr std::int64_t world() const { return data * tensor * pipeline.stages; }
  /// Ranks that compute one sample together.
  [[nodiscard]] constexpr std::int64_t model_ranks() const { return tensor * pipeline.stages; }
};

}  // namespace twinstep::strategies

namespace twinstep {
template <>
struct EnumNames<strategies::PipelineSchedule> {
  static constexpr std::array<std::string_view, 6> values{"gpipe", "1f1b",     "interleaved-1f1b", "interleaved-zb1p",
                                                          "zbv",   "dualpipev"};
};
template <>
struct EnumNames<strategies::PipelineExchange> {
  static constexpr std::array<std::string_view, 3> values{"overlapped", "batched", "blocking"};
};
}  // namespace twinstep
