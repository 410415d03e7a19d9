#include "sim/collectives/choice.hpp"

#include "sim/collectives/dispatch.hpp"

namespace twinstep::collectives {

Folded choose(Question const& question, Placement const& placement, hardware::Cluster const& cluster,
              topology::Topology const& topology) {
  auto best = std::optional<Folded>{};
  auto best_time = Duration{};
  for (auto const& entry : all_algorithms()) {
    if (!entry.does(question.kind)) continue;
    if (question.forced.algorithm && *question.forced.algorithm != entry.algorithm) continue;
    auto const request = FoldRequest{question.kind,
                                     question.size,
                                     placement,
                                     cluster,
                                     topology,
                                     entry.algorithm,
                                     question.forced.protocol.value_or(Protocol::kSimple),
                                     1};
    auto folded = fold_as(request);
    auto const time = time_alone(folded, topology);
    if (best && time >= best_time) continue;
    best = std::move(folded);
    best_time = time;
  }
  return *best;
}

}  // namespace twinstep::collectives
