#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

/// What `plan` chooses between: plans that differ in their strategy, and in what a rank computes at a time.
namespace twinstep::explore::plan {

/// What a rank computes at a time, and what it keeps of it.
struct WorkChoice {
  std::int64_t micro_batch = 1;
  strategies::Recompute recompute = strategies::Recompute::kNone;
  strategies::RecomputeScope scope;
  bool offloads_activations = false;
  bool operator==(WorkChoice const&) const = default;
};

/// The ranks that a strategy shards among, as far as its options depend on them.
struct RankLayout {
  std::int64_t ranks = 1;
  std::int64_t gpus_per_node = 1;
  bool has_drives = false;   ///< in every node
  bool accumulates = false;  ///< a step may have several micro-batches
};

/// Plans with every strategy that there is, alone and in each kind of groups that it has, before their training is
/// read: groups divide the ranks, and a node's GPUs or whole nodes make them. Options that only change what overlaps
/// are tried where the default is not the fastest everywhere (DeepSpeed's overlap_comm, gradients that wait for the
/// last micro-batch); options that change the arithmetic of training (ZeRO++'s 4 and 8 bits) are not. States go to NVMe
/// where nodes have drives.
[[nodiscard]] std::vector<strategies::Plan> strategy_choices(RankLayout const& layout);

/// Every micro-batch up to `most` that divides the `samples` of a rank, with each kind of recomputation that the model
/// has, and with what blocks keep in host memory.
[[nodiscard]] std::vector<WorkChoice> work_choices(strategies::ModelSpec const& model, std::int64_t samples,
                                                   std::int64_t most);

/// The strategy's plan with `choice` in it.
[[nodiscard]] strategies::Plan with_choice(strategies::Plan plan, WorkChoice const& choice);

/// `{"name": "fsdp2", "recompute": "full"}`: what a scenario's "strategy" says of a plan that was chosen here. Reading
/// it gives the plan's strategy, groups, recomputation and offload again.
[[nodiscard]] io::Node strategy_node(strategies::Plan const& plan);

/// The options of the strategy that no column shows: "reshard_after_forward false", "HYBRID_SHARD".
[[nodiscard]] std::string other_options(strategies::Plan const& plan);

/// "none", "optimizer", "parameters + activations", "optimizer (NVMe)". Parameters never go without the optimizer.
[[nodiscard]] std::string offload_text(strategies::Offload const& offload);

/// "none", "selective", "full every 2", "full in segments of 9".
[[nodiscard]] std::string recompute_text(strategies::Kernels const& kernels);

}  // namespace twinstep::explore::plan
