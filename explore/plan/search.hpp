#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explore/ask/host_share.hpp"
#include "explore/ask/scenario.hpp"
#include "explore/plan/estimate.hpp"
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
  Estimate estimate;
};

/// What a rank may hold.
struct Capacity {
  Bytes device;
  HostShare host;
};

/// All candidates of a setup with their closed form, the fastest first; those that cannot fit apart.
struct Space {
  Capacity capacity;
  std::vector<Candidate> candidates;
  std::vector<Candidate> too_large;  ///< the least that they hold exceeds the capacity
  struct Refused {
    std::string strategy;
    std::string reason;
  };
  std::vector<Refused> refused;  ///< strategies that the training does not go with, once each
};

/// The most that `estimate` holds of anything, over what there is of it: above 1 it does not fit.
[[nodiscard]] double fullness(Estimate const& estimate, Capacity const& capacity);
/// "needs at least 91.2 GiB, has 79.6 GiB". Requires a fullness above 1.
[[nodiscard]] std::string why_too_large(Estimate const& estimate, Capacity const& capacity);

/// Estimates every configuration on all cores. The same space whatever their number. Cost: under a millisecond for a
/// strategy with its options, tens of nanoseconds for each configuration.
[[nodiscard]] Space estimate_all(Setup const& question);

/// A candidate after its simulation.
struct Simulated {
  Candidate candidate;
  reports::Summary summary;
};

struct Found {
  std::vector<Simulated> plans;      ///< that fit, the fastest first
  std::vector<Simulated> too_large;  ///< that do not, after all, or not with ease
  std::size_t simulations = 0;
};

/// For one strategy.
struct Effort {
  std::size_t plans = 2;              ///< that are to be found
  std::size_t most_simulations = 24;  ///< more are not run, found or not
};

/// The best of each strategy, and no more of it.
inline constexpr auto kBestOfEach = Effort{.plans = 1, .most_simulations = 12};

/// Simulates candidates of each strategy, folded and with the memory ledger, from the fastest estimate on, until
/// `effort.plans` fit and no estimate is left that could make one of them slower (kEstimateMargin); if too few fit,
/// those with the least memory too. Runs on all cores; the same answer whatever their number. `progress` is told of
/// every simulation, from any thread.
[[nodiscard]] Found simulate_best(Setup const& question, Space const& space, Effort const& effort,
                                  std::function<void()> const& progress = {});

/// The candidate by a simulation such as simulate_best's. Nothing if it cannot be laid out. Cost: that of five
/// micro-batches at most, however many its step has.
[[nodiscard]] std::optional<Simulated> simulate(Setup const& question, Candidate const& candidate);

/// Whether it runs without the allocator's giving back its cache and asking again, whose cost step times do not have.
[[nodiscard]] bool fits_with_ease(reports::Summary const& summary);

/// The candidate with the least memory that fits by a simulation such as simulate_best's, as far as the first dozens of
/// them tell; what parts of the step show to be too large is not simulated whole.
[[nodiscard]] std::optional<Simulated> thriftiest_that_fits(Setup const& question, Space const& space,
                                                            std::function<void()> const& progress = {});

/// By how much an estimate may exceed the simulated step time before a ranking suffers.
/// tests/unit/plan_estimate_test.cpp holds the errors below it.
inline constexpr double kEstimateMargin = 1.25;

}  // namespace twinstep::explore::plan
