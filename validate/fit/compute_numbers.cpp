#include "validate/fit/compute_numbers.hpp"

#include "sim/cost/kernel_cost.hpp"

namespace twinstep::validate {
namespace {

constexpr auto kGigabyte = 1e9;

double& value_in(ComputeValues& values, ComputeNumber number) {
  return values[static_cast<std::size_t>(number)];
}

}  // namespace

ComputeNumberInfo const& info_of(ComputeNumber number) {
  static constexpr auto kInfos = std::to_array<ComputeNumberInfo>({
      {"node.gpu.efficiency.gemm", "", 0.01, 1, 0.5},
      {"node.gpu.efficiency.gemm_half_k", "", 1, 4096, 1},
      {"node.gpu.efficiency.attention_forward", "", 0.005, 1, 0.7},
      {"node.gpu.efficiency.attention_backward", "", 0.005, 1, 0.7},
      {"node.gpu.efficiency.memory", "", 0.05, 1, 0.3},
      {"node.gpu.kernel_start", "us", 0.1, 100, 1},
      {"node.pcie", "GB/s", 0.1, 2000, 0.5},
  });
  return kInfos[static_cast<std::size_t>(number)];
}

ComputeValues values_of(hardware::Node const& node) {
  auto const& efficiency = node.gpu.efficiency;
  return {efficiency.gemm.value,
          efficiency.gemm_half_k.value,
          efficiency.attention_forward.value,
          efficiency.attention_backward.value,
          efficiency.memory.value,
          to_seconds(node.gpu.kernel_start.value).count() / kMicrosecond,
          node.pcie.value.count() / kGigabyte};
}

hardware::Node with_values(hardware::Node node, ComputeValues const& values) {
  auto copy = values;
  auto const at = [&](ComputeNumber number) { return value_in(copy, number); };
  auto& efficiency = node.gpu.efficiency;
  efficiency.gemm.value = at(ComputeNumber::kGemm);
  efficiency.gemm_half_k.value = at(ComputeNumber::kGemmHalfK);
  efficiency.attention_forward.value = at(ComputeNumber::kAttentionForward);
  efficiency.attention_backward.value = at(ComputeNumber::kAttentionBackward);
  efficiency.attention_kernels.clear();  // the two are those of the kernel that runs here
  efficiency.memory.value = at(ComputeNumber::kMemory);
  node.gpu.kernel_start.value = to_duration(Seconds{at(ComputeNumber::kKernelStart) * kMicrosecond});
  node.pcie.value = BytesPerSecond{at(ComputeNumber::kPcie) * kGigabyte};
  return node;
}

Seconds kernel_time(KernelRecord const& record, hardware::Node const& node) {
  auto const start = node.gpu.kernel_start.value;
  if (auto const* copy = std::get_if<program::Copy>(&*record.work))
    return to_seconds(start + transfer_time(Bytes{copy->bytes.base}, node.pcie.value));
  auto const* elementwise = std::get_if<program::Elementwise>(&*record.work);
  auto const elements = elementwise != nullptr ? elementwise->elements.base : 0;
  auto const demand = cost::KernelModel{node.gpu}.demand(*record.work, elements, 0);
  return to_seconds(demand.start +
                    std::max(demand.compute, transfer_time(demand.memory, node.gpu.memory_bandwidth.value)));
}

ComputeNumber decided_by(KernelRecord const& record) {
  if (std::holds_alternative<program::Gemm>(*record.work)) return ComputeNumber::kGemm;
  if (std::holds_alternative<program::Copy>(*record.work)) return ComputeNumber::kPcie;
  if (auto const* attention = std::get_if<program::Attention>(&*record.work))
    return attention->backward ? ComputeNumber::kAttentionBackward : ComputeNumber::kAttentionForward;
  return ComputeNumber::kMemory;
}

}  // namespace twinstep::validate
