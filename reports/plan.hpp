#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/job.hpp"
#include "reports/summary.hpp"
#include "sim/io/change.hpp"

namespace twinstep::reports {

/// What a plan is chosen from, and what is not in it.
inline constexpr std::string_view kSearched =
    "data parallelism with sharding, recomputation and offload; tensor and pipeline parallelism are not searched yet";

/// A way to train that fits, after its simulation.
struct PlannedStep {
  std::string cluster;
  std::int64_t nodes = 1;
  std::int64_t gpus = 1;
  std::string strategy;  ///< its name
  std::string options;   ///< others than that, its groups and what else has a field: "reshard_after_forward false"
  std::int64_t shard_group = 1;  ///< ranks that share one copy of what is sharded; 1 if nothing is
  std::int64_t micro_batch = 1;
  std::int64_t accumulation = 1;
  bool is_continued = false;  ///< the step is long: its first micro-batches were simulated, and those after repeat them
  std::string recompute;      ///< "none", "selective", "full every 2"
  std::string offload;        ///< "none", "optimizer", "parameters + activations", "optimizer (NVMe)"
  Seconds bound;              ///< the step takes no less, as was known before it was simulated
  Duration step_time;
  Duration exposed;  ///< of it: waits for communication with no kernel running
  TokensPerSecond token_rate;
  std::string counted = "tokens";  ///< in that rate; "samples" where a model has no sequences
  std::optional<double> mfu;
  Bytes peak;
  Bytes capacity;
  std::optional<Job> job;
  std::vector<io::Change> changes;  ///< of the scenario, which make exactly this
};

/// Configurations that were left out for one reason.
struct RejectedPlans {
  std::string cluster;
  std::int64_t gpus = 1;
  std::string strategy;
  std::int64_t count = 0;   ///< of configurations; 0 where the strategy was not tried
  bool others_fit = false;  ///< other configurations of the strategy
  std::string reason;       ///< of the one that comes nearest, with its numbers
  std::string brief;        ///< the same in a line: "needs 152.2 GiB, 131.4 GiB of it parameters, has 75.1 GiB"
  double fullness = 0;      ///< of that one: what it needs over what there is
};

/// What one number of GPUs that the user asked for comes to.
struct GpuCount {
  std::string cluster;
  std::int64_t gpus = 1;
  std::optional<PlannedStep> best;  ///< of the plans that fit there, by the ranking
  std::string reason;               ///< why there is none
};

/// A number of GPUs between those that were searched, which the global batch cannot be divided among.
struct OtherBatch {
  std::string cluster;
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1;  ///< sequences: the nearest that can
};

/// What changes of the scenario do to the best plan on so many GPUs.
struct WhatIf {
  std::string setting;  ///< "cluster.node.nic=800 Gb/s", several with commas between them
  std::string cluster;
  std::int64_t gpus = 1;
  std::optional<PlannedStep> before;  ///< nothing where none fits
  std::optional<PlannedStep> after;
  std::string note;  ///< why there is no answer, or no effect, and what binds then; empty elsewhere
};

/// The soonest that the job ends on any number of GPUs, lost work included.
struct Soonest {
  std::int64_t gpus = 1;
  Seconds time;
};

struct MinimumGpus {
  std::string cluster;
  std::optional<PlannedStep> fit;  ///< a plan on the fewest on which one fits
  std::optional<PlannedStep>
      meet_deadline;               ///< on the fewest on which one ends in time too; nothing without a deadline
  std::int64_t most = 1;           ///< that were looked at: the fabric's, as far as they divide the batch
  std::optional<Soonest> soonest;  ///< where none ends in time
};

/// What `plan` found.
struct Plans {
  std::string model;
  std::string scenario;             ///< the file that was asked about, as the user named it
  std::vector<io::Change> changes;  ///< that the user made of the scenario
  double headroom = 0;              ///< the share of each GPU's memory that is left free
  std::int64_t batch_tokens = 0;    ///< of a global batch
  std::string counted = "tokens";   ///< what these are: "samples" where a model has no sequences
  Goal goal;
  std::vector<Price> prices;
  std::vector<PlannedStep> plans;  ///< ranked
  std::string ranked_by;           ///< "step time"
  std::vector<GpuCount> counts;    ///< each once, the fewest GPUs first
  std::vector<OtherBatch> other_batches;
  std::vector<WhatIf> what_if;
  std::vector<PlannedStep> pareto;  ///< by time; each costs less than those before it
  std::vector<RejectedPlans> rejected;
  std::vector<MinimumGpus> minimum;
  std::vector<std::string> verdict;  ///< why the goal is missed, if it is, the true reason first
  std::vector<std::string> warnings;
  std::size_t configurations = 0;
  std::size_t simulations = 0;
};

/// Plans of which no other is both faster and cheaper (in money where there is a price, else in GPU-hours), the fastest
/// first.
[[nodiscard]] std::vector<PlannedStep> pareto_front(std::vector<PlannedStep> plans);

/// What a global batch beyond the critical one costs: training takes 1 + B / B_crit times the tokens that small batches
/// take, and replicas save steps only in the measure of 1 + B_crit / B. Empty within it.
/// Source: McCandlish et al., arXiv 1812.06162, equations 2.11 and 5.1 to 5.3, (S/S_min - 1) (E/E_min - 1) = 1.
[[nodiscard]] std::string critical_batch_warning(double batch, double critical, std::string_view counted);

/// One document: goal, plans, pareto, rejected, minimum_gpus, verdict. Times are in seconds, memory in bytes.
[[nodiscard]] std::string plans_json(Plans const& plans, Seconds wall);

/// Reads it back. Of files of earlier versions what is missing stays empty. Throws InputError.
[[nodiscard]] Plans read_plans(io::Node const& document);

}  // namespace twinstep::reports
