#pragma once

#include <vector>

#include "strategies/parts/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// The buckets of DistributedDataParallel, in the order in which they are reduced. Tensors are never split, a bucket
/// closes with the tensor that reaches its limit, and parameters count in the type `held` that they are held in.
///
/// - After the first iteration: the order in which gradients become ready, limits first and cap.
/// - With find_unused_parameters and no static graph buckets are never rebuilt: limits apply in registration order, and
///   the list of buckets is reversed.
/// - Otherwise the first iteration has a single bucket, which overlaps with nothing.
///
/// Source: torch/csrc/distributed/c10d/reducer.cpp (compute_bucket_assignment_by_size, rebuild_buckets);
/// torch/nn/parallel/distributed.py (_ddp_init_helper).
[[nodiscard]] std::vector<std::vector<ParameterId>> ddp_buckets(Parameters const& parameters, DdpOptions const& options,
                                                                DataType held);

/// Whether the graph may leave parameters unused, so that which ones it used is reduced too.
[[nodiscard]] constexpr bool finds_unused(DdpOptions const& ddp) {
  return ddp.find_unused_parameters && !ddp.static_graph;
}

}  // namespace twinstep::strategies
