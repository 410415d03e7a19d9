#include "hw_profiles/number_path.hpp"
#include "sim/cost/kernel_cost.hpp"
#include "validate/fit/compute_fit.hpp"

namespace twinstep::validate {

ComputeNumberInfo const& info_of(ComputeNumber number) {
  static constexpr auto kInfos = std::to_array<ComputeNumberInfo>({
      {"node.gpu.efficiency.gemm", 0.01, 1, 0.5},
      {"node.gpu.efficiency.gemm_half_k", 1, 4096, 1},
      {"node.gpu.efficiency.attention_forward", 0.005, 1, 0.7},
      {"node.gpu.efficiency.attention_backward", 0.005, 1, 0.7},
      {"node.gpu.efficiency.memory", 0.05, 1, 0.3},
      {"node.gpu.kernel_start", 0.1, 100, 1},
      {"node.pcie", 0.1, 2000, 0.5},
  });
  return kInfos[static_cast<std::size_t>(number)];
}

ComputeValues values_of(hardware::Node const& node) {
  auto values = ComputeValues{};
  for (std::size_t i = 0; i < kComputeNumbers; ++i)
    values[i] = hw_profiles::number_at(node, info_of(static_cast<ComputeNumber>(i)).path)->value;
  return values;
}

hardware::Node with_values(hardware::Node node, ComputeValues const& values) {
  for (std::size_t i = 0; i < kComputeNumbers; ++i)
    hw_profiles::set_numbers(node, info_of(static_cast<ComputeNumber>(i)).path, values[i]);
  node.gpu.efficiency.attention_kernels.clear();  // the two are those of the kernel that runs here
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
