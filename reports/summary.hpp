#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reports/breakdown.hpp"
#include "reports/memory.hpp"
#include "reports/stages.hpp"
#include "reports/why.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::reports {

using TokensPerSecond = Quantity<struct TokensPerSecondTag, double>;

/// The busiest link of one kind, and how much of the step it was busy.
struct LinkUse {
  timeline::LinkTraffic traffic;
  double utilisation = 0;  ///< bytes / (bandwidth * step time)
};

/// What one training step comes to.
struct Summary {
  std::string scenario;
  std::string calibration;
  timeline::Clock clock{};
  std::int64_t world_size = 1;
  std::int64_t tokens = 0;              ///< of the global batch
  std::string_view counted = "tokens";  ///< what they are: "samples" where a model has no sequences

  Duration step_time;
  /// Where the step time lies nine times in ten; absent where nothing was measured that could tell.
  struct Range {
    Duration low;
    Duration high;
  };
  std::optional<Range> interval;
  TokensPerSecond token_rate;
  TokensPerSecond token_rate_per_gpu;
  FlopsPerSecond model_rate_per_gpu;  ///< model FLOPs, without recomputation
  /// Model and hardware FLOPs utilisation: achieved over peak rate, without and with recomputation
  /// (Chowdhery et al., arXiv 2204.02311, section 4.1; Korthikanti et al., arXiv 2205.05198, section 6.3).
  /// Absent where the peak or the FLOPs are unknown.
  std::optional<double> mfu;
  std::optional<double> hfu;

  /// The device holds what has to be held, after the allocator gave back what it could, which is `needed()`, and so do
  /// host and drives; true where capacities are unknown.
  bool fits = true;
  MemoryPeak peak;            ///< of what is allocated on the device, on the track that holds most
  std::string peak_rank;      ///< which track that is
  PeakCandidates candidates;  ///< of that track
  MemoryPeak reserved_peak;   ///< of all that is in use on the device, fragmentation included: nvidia-smi's figure
  /// What the caching allocator did: segments of the track that reserves most, the most retries of any track. Absent
  /// where none was replayed; then the peaks are the same.
  std::optional<timeline::AllocatorUse> allocator;
  Bytes capacity;                ///< of device memory; 0 if unknown
  bool network_is_free = false;  ///< communication was left out: what remains is the rest of the step
  std::string way_out;           ///< for a step that does not fit: what would, from whoever tried; may be empty
  Bytes host_peak;               ///< most that one track holds in host memory
  Bytes nvme_peak;
  std::optional<Bytes> host_capacity;  ///< a rank's share of its host's memory; absent where it is not known
  std::optional<Bytes> nvme_capacity;  ///< likewise of its drives

  /// Time in which a communication of a rank waits or transfers and no kernel runs there; of the worst track.
  Duration exposed_communication;
  Duration communication;                 ///< time in which that track communicates at all
  std::vector<BreakdownEntry> breakdown;  ///< of the track that ends last; adds up to the step time
  std::string breakdown_rank;             ///< which track that is

  std::vector<StageSummary> stages;  ///< of a pipeline

  timeline::WireTotals wire;
  std::vector<LinkUse> links;
  std::int64_t events = 0;

  /// What is not allocated at the peak; negative if the step needs more than there is.
  [[nodiscard]] Bytes headroom() const { return capacity - peak.total(); }
  /// The peak that decides whether the step fits: of what is allocated if that alone is too much, else with what the
  /// allocator could not give back.
  [[nodiscard]] MemoryPeak const& needed() const { return headroom() < Bytes{} ? peak : reserved_peak; }
};

/// Cost: a few sorts of the spans.
[[nodiscard]] Summary summarize(timeline::Timeline const& timeline);

/// Holds what a rank needs beside its device against its shares of the host's memory and drives, where they are known.
/// A step for which they are too small does not fit.
void hold_against_host(Summary& summary, std::optional<Bytes> memory, std::optional<Bytes> drives);

/// The categories that hold memory, the largest first; ties in the order of the enumeration.
[[nodiscard]] std::vector<program::MemoryCategory> largest_categories(BytesByCategory const& held);

/// What a rank has too little of.
struct Shortage {
  std::string_view of;  ///< "device memory", "host memory" or "NVMe"
  Bytes needs;
  Bytes has;
};

/// The first of them. Requires a summary that does not fit.
[[nodiscard]] Shortage shortage_of(Summary const& summary);

/// "needs 112.5 GiB at layer.3.backward/mlp.up (optimizer 75.3 GiB, parameters 12.6 GiB, …), has 79.6 GiB".
/// Requires a summary that does not fit.
[[nodiscard]] std::string why_it_does_not_fit(Summary const& summary);

/// What may go wrong with a step that fits: the allocator has to ask for memory twice, or hardly any is left. Empty if
/// nothing. Source of the limit of 95 %: of twelve llm-foundry records at 97 to 99 % of the capacity by such a ledger,
/// four ran 20 to 28 % slower than the others.
[[nodiscard]] std::string memory_warning(Summary const& summary);

/// The answer "no" to a question that was well put: the plan cannot be laid out at all.
struct Infeasible {
  std::string scenario;
  std::string reason;   ///< "48 layers do not divide into 5 stages"
  std::string way_out;  ///< "use 4 or 6 stages"; may be empty
};

/// "reason; way out", or the reason alone.
[[nodiscard]] std::string why_it_is_infeasible(Infeasible const& infeasible);

/// The answer for one of several scenarios: a step, or the reason why there is none.
struct NamedSummary {
  std::string name;
  std::variant<Summary, Infeasible> answer;
};

/// Writes one JSON object about one step; the keys are stable, others script against them. Times are in seconds, memory
/// and traffic in bytes, unknown values null. `wall` is how long the answer took.
///
/// "memory" {category: bytes} adds up to "peak_memory_bytes": the moment at which most is allocated, with the context
/// and the collective library's buffers (without these two, torch.cuda.max_memory_allocated). "reserved_memory_bytes"
/// is the most in use on the device, as nvidia-smi shows it: at that moment the caching allocator holds
/// "memory_allocator" {segments, retries, fragmentation_bytes}, fragmentation beyond what is allocated; both are null
/// where no allocator was replayed. "memory_candidates" {loss, backward} are the highest moments of the loss and of
/// backward without it.
///
/// "interval" {low_s, high_s} is null but for a calibrated cluster: there is no basis for one. "does_not_fit" is null
/// for a step that fits.
///
/// Only of a pipeline there are "stages" [{name, ranks, compute_s, exposed_communication_s, waits_for_stages_s,
/// waits_for_ranks_s, peak_memory_bytes, reserved_memory_bytes, at, memory {category: bytes}}], in their order.
///
/// Only where communication was left out there is "network_free": true; only where it was asked, "why"
/// {communication_free_s, communication_costs_s, changes [{name, set, hardware, step_time_s, saves_s, fits}]}.
void write_summary(io::JsonWriter& json, Summary const& summary, Seconds wall, std::optional<Why> const& why = {});

/// The same object for a plan that cannot be laid out: the same keys, every number null, "fits" and "feasible"
/// false, and a reason.
void write_summary(io::JsonWriter& json, Infeasible const& infeasible, Seconds wall);

}  // namespace twinstep::reports
