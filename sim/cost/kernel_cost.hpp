#pragma once

#include <array>
#include <cstdint>

#include "sim/base/data_type.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/program/operation.hpp"

/// What a kernel costs, from its shape.
namespace twinstep::cost {

/// How far the slowest of `ranks` is expected behind the mean, in standard deviations, if their times are spread
/// normally: the quantile at (ranks - 0.375) / (ranks + 0.25) (Blom, Statistical Estimates and Transformed
/// Beta-Variables, 1958). 0 for one rank, 1.43 for 8 (exactly 1.424), 2.59 for 128, 4.0 for 16,384.
[[nodiscard]] double expected_latest(std::int64_t ranks);

/// How many times as long kernels of `ranks` take as in one node alone: each rank waits for the latest of all, and GPUs
/// of one kind differ, as their chips and clocks do (Stack::rank_spread). Efficiencies of the profiles come from whole
/// nodes, so one node's own latest rank is in them already. 1 within one node; in every step the whole wait is exposed.
[[nodiscard]] double wait_for_latest(hardware::Cluster const& cluster, std::int64_t ranks);

/// What one kernel asks of its GPU. Alone, it takes start + max(compute, memory / HBM bandwidth).
struct KernelDemand {
  Duration start;    ///< before it does anything
  Duration compute;  ///< on the SMs that it got, were memory infinitely fast
  Bytes memory;      ///< HBM traffic, inflated by what kernels miss of the peak
};

/// The roofline of one GPU with the efficiencies of its profile, and what the framework adds.
///
///     GEMM       compute · 2mnk / (peak · gemm · k / (k + k0)), not below its bytes
///     attention  compute · FLOPs of the scores that are computed / (peak · attention), not below its bytes
///     a weight's gradient waits for gradient_bytes / (HBM · memory) an element besides
///     others     bytes read and written · (elementwise | loss | optimizer) / (HBM · memory)
///
/// A convolution is such a GEMM of each group, in whole tiles and, in fp32, at the rate of TF32 where the GPU has one:
/// PyTorch's default (torch.backends.cudnn.allow_tf32). The attention is the kernel that the stack names, if the GPU
/// has it. `elementwise` is for casts and copies, so a model in fp32 goes without.
///
/// All of it takes `wait` times as long (`wait_for_latest`).
/// Compute slows by the SMs that running communication kernels hold, held_sms of each: in proportion, or, for GEMMs
/// whose tile is known, by the waves of tiles that the others need more. Alone a GEMM has no waves: its efficiency was
/// fitted on whole kernels, and neither tiles nor waves explain what is left in llm-foundry's single-node table. Terms
/// and their worth against measured steps: Korthikanti et al. (arXiv 2205.05198) and that table.
class KernelModel {
 public:
  explicit KernelModel(hardware::Gpu const& gpu, hardware::Stack const& stack = {}, double wait = 1);

  /// Cost of `work`, a GEMM, an attention or a memory-bound kernel. `elements` is the number that the representative
  /// rank's memory-bound kernel handles; `held_sms` are taken by communication as long as it runs.
  [[nodiscard]] KernelDemand demand(program::Work const& work, std::int64_t elements, std::int64_t held_sms) const;

 private:
  [[nodiscard]] Duration compute_at(double flops, double rate, double slowdown) const;
  [[nodiscard]] double free_sms(std::int64_t held) const;
  [[nodiscard]] double peak(program::Gemm const& gemm) const;
  /// What part of the tiles of a convolution is its own.
  [[nodiscard]] double filled(program::Gemm const& gemm) const;
  [[nodiscard]] double slowdown(program::Gemm const& gemm, std::int64_t held_sms) const;
  [[nodiscard]] Duration gradient_copy(program::Gemm const& gemm) const;
  /// Of the HBM peak, what the kernel reaches.
  [[nodiscard]] double memory(program::Elementwise const& elementwise) const;

  std::array<double, kEnumSize<DataType>> peak_{};  // FLOP/s
  double gemm_ = 1;
  double gemm_fp8_ = 1;
  double gemm_half_k_ = 0;
  double attention_forward_ = 1;
  double attention_backward_ = 1;
  std::array<double, kEnumSize<program::KernelFamily>> memory_{};  // of the HBM peak, by family
  double adamw_memory_ = 1;
  double gemm_memory_ = 1;
  double gradient_copy_ = 0;  // s an element
  std::optional<hardware::GemmTile> tile_;
  std::optional<hardware::GemmTile> convolution_tile_;
  double sms_ = 1;
  double held_share_ = 1;
  Duration start_;
};

}  // namespace twinstep::cost
