#include "sim/cost/kernel_cost.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <boost/math/special_functions/erf.hpp>

#include "sim/base/check.hpp"

namespace twinstep::cost {
namespace {

using namespace program;

Bytes bytes_moved(Gemm const& g) {
  auto const [a, b, c] = operand_elements(g);
  return size_of(g.type) * (a + b + c * (g.accumulate ? 2 : 1));
}

/// Queries, keys, values and the output; backward also reads the output's gradient and writes three gradients.
Bytes bytes_moved(Attention const& a) {
  auto const queries = a.batch * a.query_length * a.heads * a.head_size;
  auto const keys = a.batch * a.key_length * a.kv_heads * a.head_size;
  return size_of(a.type) * (a.backward ? 4 * queries + 4 * keys : 2 * queries + 2 * keys);
}

/// Forward and backward: of the kernel that the stack calls, where the GPU has one of that name.
std::pair<double, double> attention_of(hardware::KernelEfficiency const& efficiency, hardware::Stack const& stack) {
  auto const& kernels = efficiency.attention_kernels;
  auto const found = std::ranges::find(kernels, stack.attention, &hardware::AttentionKernel::name);
  if (found == kernels.end()) return {efficiency.attention_forward.value, efficiency.attention_backward.value};
  return {found->forward.value, found->backward.value};
}

bool is_convolution(Gemm const& gemm) {
  return gemm.windows != Windows::kNone;
}

}  // namespace

KernelModel::KernelModel(hardware::Gpu const& gpu, hardware::Stack const& stack, double wait)
    : gemm_half_k_{gpu.efficiency.gemm_half_k.value},
      tile_{gpu.efficiency.gemm_tile},
      convolution_tile_{gpu.efficiency.convolution_tile},
      sms_{static_cast<double>(gpu.sm_count.value)},
      held_share_{stack.held_sms.value},
      start_{gpu.kernel_start.value} {
  auto const arithmetic = stack.compute.value * wait;
  auto const& efficiency = gpu.efficiency;
  gemm_ = efficiency.gemm.value / arithmetic;
  gemm_fp8_ = efficiency.gemm_fp8.value_or(efficiency.gemm).value / arithmetic;
  auto const [forward, backward] = attention_of(efficiency, stack);
  attention_forward_ = forward / arithmetic;
  attention_backward_ = backward / arithmetic;
  gemm_memory_ = efficiency.memory.value / wait;
  memory_.fill(gemm_memory_);
  memory_[static_cast<std::size_t>(KernelFamily::kModel)] /= stack.elementwise.value;
  memory_[static_cast<std::size_t>(KernelFamily::kLoss)] /= stack.loss.value;
  adamw_memory_ = gemm_memory_ / stack.optimizer.value;
  auto const memory_rate = gpu.memory_bandwidth.value.count() * gemm_memory_;
  if (stack.gradient_bytes.value > 0) gradient_copy_ = stack.gradient_bytes.value / memory_rate;
  for (auto const& peak : gpu.peaks) peak_[static_cast<std::size_t>(peak.type)] = peak.rate.value.count();
}

double KernelModel::peak(Gemm const& gemm) const {
  auto const of = [this](DataType type) { return peak_[static_cast<std::size_t>(type)]; };
  if (gemm.type == DataType::kFp32 && is_convolution(gemm) && of(DataType::kTf32) > 0) return of(DataType::kTf32);
  return of(gemm.type);
}

/// The smaller side of the product goes along the smaller side of the tile.
double KernelModel::filled(Gemm const& gemm) const {
  if (!is_convolution(gemm) || !convolution_tile_) return 1;
  auto const padded = [](std::int64_t size, std::int64_t tile) {
    return static_cast<double>(divide_up(size, tile) * tile);
  };
  auto const [less, more] = std::minmax(gemm.m, gemm.n);
  return static_cast<double>(gemm.m) * static_cast<double>(gemm.n) /
         (padded(less, convolution_tile_->columns.value) * padded(more, convolution_tile_->rows.value));
}

Duration KernelModel::compute_at(double flops, double rate, double slowdown) const {
  TWINSTEP_CHECK(rate > 0, "a kernel's element type has a rate on this GPU");
  return to_duration(Seconds{flops / rate * slowdown});
}

double KernelModel::free_sms(std::int64_t held) const {
  return std::max(1.0, sms_ - held_share_ * static_cast<double>(held));
}

/// Where its tiles are known, a GEMM runs in whole waves: SMs that are taken cost it nothing, or a wave.
double KernelModel::slowdown(Gemm const& gemm, std::int64_t held_sms) const {
  if (held_sms == 0) return 1;
  if (!tile_) return sms_ / free_sms(held_sms);
  auto const tiles = gemm.batch * divide_up(gemm.m, tile_->rows.value) * divide_up(gemm.n, tile_->columns.value);
  auto const waves = [tiles](double sms) { return divide_up(tiles, static_cast<std::int64_t>(sms)); };
  return static_cast<double>(waves(free_sms(held_sms))) / static_cast<double>(waves(sms_));
}

/// Only the gradient of a weight sums over the rows of both operands.
Duration KernelModel::gradient_copy(Gemm const& gemm) const {
  if (!gemm.transpose_a || gemm.batch > 1) return Duration{};
  return to_duration(Seconds{gradient_copy_ * static_cast<double>(gemm.m * gemm.n)});
}

/// In fp32 a model's kernels move what they must.
double KernelModel::memory(Elementwise const& elementwise) const {
  if (elementwise.function == Function::kAdamW) return adamw_memory_;
  auto const is_plain = elementwise.family == KernelFamily::kModel && elementwise.type == DataType::kFp32;
  return is_plain ? gemm_memory_ : memory_[static_cast<std::size_t>(elementwise.family)];
}

KernelDemand KernelModel::demand(Work const& work, std::int64_t elements, std::int64_t held_sms) const {
  auto const inflated = [](Bytes bytes, double reached) {
    return to_bytes(static_cast<double>(bytes.count()) / reached);
  };
  if (auto const* gemm = std::get_if<Gemm>(&work)) {
    auto const k = static_cast<double>(gemm->k);
    auto const rate =
        peak(*gemm) * (gemm->type == DataType::kFp8 ? gemm_fp8_ : gemm_) * filled(*gemm) * k / (k + gemm_half_k_);
    return {start_ + gradient_copy(*gemm), compute_at(flops_of(work).count(), rate, slowdown(*gemm, held_sms)),
            inflated(bytes_moved(*gemm), gemm_memory_)};
  }
  if (auto const* attention = std::get_if<Attention>(&work)) {
    auto const efficiency = attention->backward ? attention_backward_ : attention_forward_;
    auto const rate = peak_[static_cast<std::size_t>(attention->type)] * efficiency;
    return {start_, compute_at(flops_of(work).count(), rate, sms_ / free_sms(held_sms)),
            inflated(bytes_moved(*attention), gemm_memory_)};
  }
  auto const& elementwise = std::get<Elementwise>(work);
  return {start_, Duration{}, inflated(Bytes{elements * elementwise.bytes_per_element}, memory(elementwise))};
}

double expected_latest(std::int64_t ranks) {
  auto const n = static_cast<double>(ranks);
  auto const share = (n - 0.375) / (n + 0.25);
  return std::numbers::sqrt2 * boost::math::erf_inv(2 * share - 1);
}

double wait_for_latest(hardware::Cluster const& cluster, std::int64_t ranks) {
  auto const behind = expected_latest(ranks) - expected_latest(std::min(ranks, cluster.node().gpus));
  return 1 + cluster.stack.rank_spread.value * behind;
}

}  // namespace twinstep::cost
