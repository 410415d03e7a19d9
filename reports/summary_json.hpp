#pragma once

#include <optional>

#include "reports/summary.hpp"
#include "reports/why.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

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
/// Only where communication was left out there is "network_free": true; only where it was asked, "why"
/// {communication_free_s, communication_costs_s, changes [{name, set, hardware, step_time_s, saves_s, fits}]}.
void write_summary(io::JsonWriter& json, Summary const& summary, Seconds wall, std::optional<Why> const& why = {});

/// The same object for a plan that cannot be laid out: the same keys, every number null, "fits" and "feasible"
/// false, and a reason.
void write_summary(io::JsonWriter& json, Infeasible const& infeasible, Seconds wall);

}  // namespace twinstep::reports
