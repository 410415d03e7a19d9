#include "sim/collectives/multicast.hpp"
#include "sim/collectives/tuner/model.hpp"

namespace twinstep::collectives::tuner {
namespace {

using hardware::Algorithm;
using hardware::Protocol;
using program::Reduction;

constexpr std::int64_t kMostCollNetRanks = 8;  ///< NCCL_MAX_DIRECT_ARITY + 1

/// What the switch cannot reduce (src/include/device.h, ncclNvlsSupported).
std::string_view switch_cannot_reduce(TunerRequest const& request) {
  if (!reduces(request.kind)) return "";
  if (request.reduction == Reduction::kAverage) return "averages are not done in the switch";
  switch (request.type) {
    case DataType::kBf16:
    case DataType::kFp16:
    case DataType::kInt32: return "";
    case DataType::kFp64:
    case DataType::kFp32:
    case DataType::kTf32:
      return request.reduction == Reduction::kSum ? "" : "the switch finds no extremes of fp32 and fp64";
    case DataType::kFp8:
    case DataType::kInt8: break;
  }
  return "the switch does not reduce this element type";
}

std::string_view multicast_off(TunerRequest const& request, Algorithm algorithm) {
  auto const& graph = request.graph;
  if (request.environment.nvls == false) return "NCCL_NVLS_ENABLE is 0";
  if (!graph.has_multicast) return "needs an NVSwitch with multicast";
  if (algorithm == Algorithm::kNvlsTree && graph.nodes == 1) return "is for several nodes";
  if (auto const reason = switch_cannot_reduce(request); !reason.empty()) return reason;
  if (algorithm == Algorithm::kNvls && graph.nodes > 1 && !graph.has_network_reduction)
    return "needs SHARP in the network (NCCL_COLLNET_ENABLE)";
  if (request.kind != CollectiveKind::kAllReduce) {
    if (graph.ranks_per_node > kMostHeads) return "more GPUs than a switch has heads";
    if (graph.nodes > 1 && graph.ranks_per_node > graph.nvls.count) return "needs a NIC for each GPU";
  }
  return graph.nvls.count < 2 ? "needs two heads at least" : "";
}

std::string_view collnet_off(TunerRequest const& request, Algorithm algorithm) {
  auto const& graph = request.graph;
  if (graph.nodes == 1) return "is for several nodes";
  if (!graph.has_network_reduction) return "needs SHARP in the network (NCCL_COLLNET_ENABLE)";
  if (graph.ranks_per_node > kMostCollNetRanks) return "more than eight GPUs a node";
  if (algorithm == Algorithm::kCollNetDirect && request.cluster.node().intra != hardware::IntraNode::kNvSwitch)
    return "needs an NVSwitch";
  if (request.kind != CollectiveKind::kAllReduce && graph.ranks_per_node > graph.ring.count)
    return "needs a NIC for each GPU";
  return "";
}

std::string_view pat_off(TunerRequest const& request) {
  if (!request.cluster.library.tuning.has_pat) return "needs version 2.23 or later";
  if (request.environment.pat == false) return "NCCL_PAT_ENABLE is 0";
  if (request.graph.nodes != request.graph.ranks && request.environment.pat != true) return "needs one rank a node";
  if (request.kind == CollectiveKind::kReduceScatter && request.reduction == Reduction::kAverage)
    return "averages are not done by PAT";
  return "";
}

std::string_view ll128_off(TunerRequest const& request) {
  if (request.environment.mask(request.kind).protocols_are_set) return "";
  if (!request.cluster.node().gpu.has_capability(70)) return "LL128 needs compute capability 7.0";
  if (request.graph.ranks_per_node > 1 && !request.graph.is_nvlink) return "LL128 needs NVLink inside the node";
  return "";
}

}  // namespace

std::string_view why_off(TunerRequest const& request, Algorithm algorithm, Protocol protocol) {
  auto const reason = [&]() -> std::string_view {
    switch (algorithm) {
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree: return multicast_off(request, algorithm);
      case Algorithm::kCollNetDirect:
      case Algorithm::kCollNetChain: return collnet_off(request, algorithm);
      case Algorithm::kPat: return pat_off(request);
      default: return protocol == Protocol::kLl128 ? ll128_off(request) : "";
    }
  }();
  if (!reason.empty()) return reason;
  auto const& mask = request.environment.mask(request.kind);
  if (!mask.algorithms[static_cast<std::size_t>(algorithm)]) return "NCCL_ALGO excludes it";
  if (!mask.protocols[static_cast<std::size_t>(protocol)]) return "NCCL_PROTO excludes it";
  if (algorithm == Algorithm::kTree && request.environment.tree_threshold &&
      request.size > *request.environment.tree_threshold)
    return "NCCL_TREE_THRESHOLD is below this size";
  return "";
}

}  // namespace twinstep::collectives::tuner
