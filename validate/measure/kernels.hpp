#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/program/step_program.hpp"
#include "validate/measure/collective_sweep.hpp"

namespace twinstep::measure {

/// GEMMs from 128 to 16384: squares, wide ones as in an MLP (n = 4 m) and short ones (k = m / 4), the smallest first.
[[nodiscard]] std::vector<Workload> default_gemms(DataType type);
/// Causal attention of 16 heads of 128 over 1024 to 8192 tokens, forward and backward.
[[nodiscard]] std::vector<Workload> default_attentions(DataType type);
/// Kernels that read and write `smallest` to `largest` bytes, by powers of four: memory bandwidth.
[[nodiscard]] std::vector<Workload> memory_kernels(Bytes smallest, Bytes largest, DataType type);
/// Copies of `smallest` to `largest` bytes, by powers of four.
[[nodiscard]] std::vector<Workload> copies(program::CopyDirection direction, Bytes smallest, Bytes largest);
/// A kernel that does next to nothing: what is left is its launch.
[[nodiscard]] Workload empty_kernel(DataType type);

/// The GEMMs and attentions of a step, each shape once, in the order of first use.
[[nodiscard]] std::vector<Workload> kernels_of(program::StepProgram const& program);

/// What a kernel or copy takes on the slowest rank.
struct KernelPoint {
  Workload work;
  LaneSample alone;
  std::optional<Spread> beside;  ///< the same while an exchange runs on another stream
};

/// What becomes of points, in the first process.
struct KernelSink {
  std::function<void(KernelPoint const&)> take;
  std::function<void(std::string const& sentence)> leave_out;  ///< a point, and why
};

/// Measures them one after another on every rank of the job at once. What the backend does not support is left out with
/// its reason, once for each kind of work; and once a repetition takes a quarter of a point's time, so are larger ones
/// of its kind.
void measure_kernels(Executor& executor, std::span<Workload const> works, std::optional<Exchange> const& beside,
                     Sampling const& sampling, KernelSink const& sink);

/// "gemm 1024 x 1024 x 1024 fp32", "copy host_to_device 1048576 B".
[[nodiscard]] std::string describe(Workload const& work);

}  // namespace twinstep::measure
