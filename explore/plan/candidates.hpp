#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explore/ask/host_share.hpp"
#include "explore/ask/scenario.hpp"
#include "explore/plan/bound.hpp"
#include "explore/plan/space.hpp"
#include "reports/summary.hpp"
#include "sim/io/document.hpp"

namespace twinstep::explore::plan {

/// One model on so many nodes of one cluster, and how it is trained apart from what is searched.
struct Setup {
  Scenario scenario;
  io::Node training;                                 ///< of its file, without micro-batch and accumulation
  std::vector<strategies::StrategyName> strategies;  ///< to search; all that are offered if empty
};

/// One point of the space.
struct Candidate {
  strategies::Plan plan;
  Bound bound;
};

/// What a rank may hold.
struct Capacity {
  Bytes device;
  HostShare host;
};
[[nodiscard]] Capacity capacity_of(hardware::Node const& node);

/// All candidates of a setup; those that cannot fit apart.
struct Space {
  Capacity capacity;
  std::vector<Candidate> candidates;
  std::vector<Candidate> too_large;
  struct Refused {
    std::string strategy;
    std::string reason;
  };
  std::vector<Refused> refused;  ///< strategies that the training does not go with, once each
};

/// The most that is held at least of anything, over what there is of it: above 1 it does not fit.
[[nodiscard]] double fullness(Bound const& bound, Capacity const& capacity);
/// "needs at least 91.2 GiB, has 79.6 GiB". Requires a fullness above 1.
[[nodiscard]] std::string why_too_large(Bound const& bound, Capacity const& capacity);

/// Bounds every configuration on all cores. The same space whatever their number. Cost: half a millisecond for a
/// strategy with its options, tens of nanoseconds for each configuration.
[[nodiscard]] Space bound_all(Setup const& question);

/// The candidate's bound together with that of its program. Cost: that of compiling a few micro-batches at most.
[[nodiscard]] Bound sharpened(Scenario const& scenario, Candidate const& candidate);

/// A candidate after its simulation.
struct Simulated {
  Candidate candidate;
  reports::Summary summary;
};

/// Simulates the candidate, folded and with the memory ledger. Nothing if it cannot be laid out.
[[nodiscard]] std::optional<Simulated> simulate(Scenario const& scenario, Candidate const& candidate);

/// Whether it runs without the allocator's giving back its cache and asking again, whose cost step times do not have.
[[nodiscard]] bool fits_with_ease(reports::Summary const& summary);

}  // namespace twinstep::explore::plan
