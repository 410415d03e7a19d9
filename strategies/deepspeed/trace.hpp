#pragma once

#include <vector>

#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/parameters.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// One leaf module in one pass, and what DeepSpeed's parameter coordinator does there.
struct ModuleVisit {
  ModuleId module;
  Pass pass = Pass::kForward;
  std::vector<ParameterId> fetch;     ///< gathered on entry, together: those that are not there
  std::vector<ParameterId> prefetch;  ///< gathered on entry, together, for the modules that come
  std::vector<ParameterId> release;   ///< dropped on exit
};

/// The leaf modules of one micro-batch in order, as the first iteration records them.
[[nodiscard]] std::vector<ModuleVisit> record_trace(StepContext const& context);

/// Fills in what is fetched, prefetched and released. On entry of a module what is missing is fetched; then the
/// parameters that the trace holds next, until min(stage3_prefetch_bucket_size, stage3_max_live_parameters - live)
/// elements are on their way: the last of them may exceed it. On exit its parameters are dropped, unless they occur
/// again within stage3_max_reuse_distance elements or the queue of prefetches has passed their next use.
/// `is_persistent` says which are never dropped. Source: deepspeed/runtime/zero/partitioned_param_coordinator.py
/// (fetch_sub_module, release_sub_module). Cost: modules times those within the reuse distance.
void schedule_fetches(std::vector<ModuleVisit>& trace, StepContext const& context,
                      std::vector<bool> const& is_persistent);

/// Whether stage 3 keeps a parameter whole on every rank.
[[nodiscard]] inline bool is_persistent(DeepSpeedOptions const& options, Parameters const& parameters, ParameterId id) {
  return parameters.elements(id) <= options.stage3_param_persistence_threshold;
}

/// Each parameter a group of its own, in registration order, but persistent ones before all others.
[[nodiscard]] inline std::vector<std::vector<ParameterId>> persistent_first(DeepSpeedOptions const& options,
                                                                            Parameters const& parameters) {
  auto groups = std::vector<std::vector<ParameterId>>{};
  for (auto const comes_first : {true, false})
    for (std::size_t i = 0; i < parameters.count(); ++i)
      if (is_persistent(options, parameters, ParameterId{i}) == comes_first) groups.push_back({ParameterId{i}});
  return groups;
}

}  // namespace twinstep::strategies
