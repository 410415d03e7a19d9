#pragma once

#include <array>
#include <cstdint>

#include "sim/base/data_type.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/program/operation.hpp"

/// What a kernel costs, from its shape.
namespace twinstep::cost {

/// What one kernel asks of its GPU. Alone, it takes start + max(compute, memory / HBM bandwidth).
struct KernelDemand {
  Duration start;    ///< before it does anything
  Duration compute;  ///< on the SMs that it got, were memory infinitely fast
  Bytes memory;      ///< HBM traffic, inflated by what kernels miss of the peak
};

/// The roofline of one GPU with the efficiencies of its profile.
///
///     GEMM       2mnk / (peak · gemm · k / (k + k0)), not below its bytes
///     attention  FLOPs of the scores that are computed / (peak · attention), not below its bytes
///     others     bytes read and written / (HBM · memory)
///
/// Compute slows in proportion to the SMs that running communication kernels hold. Terms and their worth against
/// measured steps: Korthikanti et al. (arXiv 2205.05198) and llm-foundry's single-node table; tile and wave
/// quantisation explain nothing there and are left out.
class KernelModel {
 public:
  explicit KernelModel(hardware::Gpu const& gpu);

  /// Cost of `work`, a GEMM, an attention or a memory-bound kernel. `elements` is the number that the representative
  /// rank's memory-bound kernel handles; `held_sms` are taken by communication.
  [[nodiscard]] KernelDemand demand(program::Work const& work, std::int64_t elements, std::int64_t held_sms) const;

 private:
  [[nodiscard]] Duration compute_at(double flops, double rate, std::int64_t held_sms) const;

  std::array<double, kEnumSize<DataType>> peak_{};  // FLOP/s
  double gemm_ = 1;
  double gemm_half_k_ = 0;
  double attention_forward_ = 1;
  double attention_backward_ = 1;
  double memory_ = 1;
  double sms_ = 1;
  Duration start_;
};

}  // namespace twinstep::cost
