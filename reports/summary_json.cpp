#include <optional>

#include "reports/summary.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;

using program::MemoryCategory;

namespace {

/// Of what is allocated.
void write_categories(JsonWriter& json, BytesByCategory const& held) {
  json.begin_object();
  for (std::size_t i = 0; i < held.size(); ++i)
    if (auto const category = static_cast<MemoryCategory>(i); category != MemoryCategory::kFragmentation)
      json.member(name_of(category), held[i]);
  json.end_object();
}

void write_candidate(JsonWriter& json, std::string_view key, std::optional<MemoryPeak> const& peak) {
  if (!peak) return json.member(key, nullptr);
  json.key(key);
  json.begin_object();
  json.member("bytes", peak->total());
  json.member("time_s", peak->time);
  json.member("at", peak->at);
  json.end_object();
}

void write_candidates(JsonWriter& json, Summary const& summary) {
  json.key("memory_candidates");
  json.begin_object();
  write_candidate(json, "loss", summary.candidates.loss);
  write_candidate(json, "backward", summary.candidates.backward);
  json.end_object();
}

void write_reserved(JsonWriter& json, Summary const& summary) {
  auto const warning = memory_warning(summary);
  json.member("memory_warning", warning.empty() ? std::optional<std::string>{} : warning);
  if (!summary.allocator) {
    json.member("reserved_memory_bytes", nullptr);
    return json.member("memory_allocator", nullptr);
  }
  json.member("reserved_memory_bytes", summary.reserved_peak.total());
  json.key("memory_allocator");
  json.begin_object();
  json.member("segments", summary.allocator->segments);
  json.member("retries", summary.allocator->retries);
  json.member("fragmentation_bytes",
              summary.reserved_peak.held[static_cast<std::size_t>(MemoryCategory::kFragmentation)]);
  json.end_object();
}

void write_memory(JsonWriter& json, Summary const& summary) {
  json.member("peak_memory_bytes", summary.peak.total());
  json.member("memory_capacity_bytes", summary.capacity > Bytes{} ? std::optional{summary.capacity} : std::nullopt);
  json.key("memory");
  write_categories(json, summary.peak.held);
  json.key("memory_peak");
  json.begin_object();
  json.member("time_s", summary.peak.time);
  json.member("at", summary.peak.at);
  json.member("rank", summary.peak_rank);
  json.end_object();
  write_candidates(json, summary);
  write_reserved(json, summary);
  json.member("host_memory_bytes", summary.host_peak);
  json.member("host_memory_capacity_bytes", summary.host_capacity);
  json.member("nvme_bytes", summary.nvme_peak);
  json.member("nvme_capacity_bytes", summary.nvme_capacity);
}

void write_does_not_fit(JsonWriter& json, Summary const& summary) {
  json.key("does_not_fit");
  if (summary.fits) return json.value(nullptr);
  json.begin_object();
  json.member("sentence", why_it_does_not_fit(summary));
  auto const [of, needs, has] = shortage_of(summary);
  auto const& needed = summary.needed();
  json.member("of", of);
  json.member("needs_bytes", needs);
  json.member("has_bytes", has);
  json.member("at", needed.at);
  json.key("largest");
  json.begin_array();
  for (auto const category : largest_categories(needed.held)) {
    json.begin_object();
    json.member("category", name_of(category));
    json.member("bytes", needed.held[static_cast<std::size_t>(category)]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_time(JsonWriter& json, Summary const& summary) {
  json.member("exposed_communication_s", summary.exposed_communication);
  json.member("communication_s", summary.communication);
  write_array(json, "breakdown", summary.breakdown, [](io::JsonWriter& out, auto const& entry) {
    out.begin_object();
    out.member("name", breakdown_name(entry));
    out.member("seconds", entry.time);
    out.end_object();
  });
}

void write_stages(JsonWriter& json, std::vector<StageSummary> const& stages) {
  write_array(json, "stages", stages, [](io::JsonWriter& out, StageSummary const& stage) {
    out.begin_object();
    out.member("name", stage.name);
    out.member("ranks", stage.ranks);
    out.member("compute_s", stage.compute);
    out.member("exposed_communication_s", stage.exposed);
    out.member("waits_for_stages_s", stage.waits_for_stages);
    out.member("waits_for_ranks_s", stage.waits_for_ranks);
    out.member("peak_memory_bytes", stage.peak.total());
    out.member("reserved_memory_bytes", stage.reserved);
    out.member("at", stage.peak.at);
    out.key("memory");
    write_categories(out, stage.peak.held);
    out.end_object();
  });
}

void write_network(JsonWriter& json, Summary const& summary) {
  json.key("bytes_on_wire");
  json.begin_object();
  json.member("intra", summary.wire.intra);
  json.member("inter", summary.wire.inter);
  json.end_object();
  write_array(json, "links", summary.links, [](io::JsonWriter& out, auto const& link) {
    out.begin_object();
    out.member("name", link.traffic.name);
    out.member("is_inter_node", link.traffic.is_inter_node);
    out.member("links", link.traffic.links);
    out.member("bytes", link.traffic.bytes);
    out.member("bytes_per_s", link.traffic.bandwidth.count());
    out.member("utilisation", link.utilisation);
    out.end_object();
  });
}

void write_interval(JsonWriter& json, Summary const& summary) {
  if (!summary.interval) return json.member("interval", nullptr);
  json.key("interval");
  json.begin_object();
  json.member("low_s", summary.interval->low);
  json.member("high_s", summary.interval->high);
  json.end_object();
}

void write_why(JsonWriter& json, Why const& why) {
  json.key("why");
  json.begin_object();
  json.member("communication_free_s", why.without_communication);
  json.member("communication_costs_s", why.communication());
  write_array(json, "changes", why.changes, [&](io::JsonWriter& out, auto const& change) {
    out.begin_object();
    out.member("name", change.name);
    write_values(out, "set", io::texts_of(change.changes));
    out.member("hardware", change.is_hardware);
    out.member("step_time_s", change.step_time);
    out.member("saves_s", why.step_time - change.step_time);
    out.member("fits", change.fits);
    out.end_object();
  });
  write_array(json, "assumptions", why.assumptions, [](io::JsonWriter& out, auto const& assumption) {
    out.begin_object();
    out.member("assumed", assumption.what);
    out.member("otherwise", io::text_of(assumption.otherwise));
    out.member("step_time_s", assumption.step_time);
    out.member("throughput_ratio", assumption.throughput);
    out.end_object();
  });
  json.end_object();
}

}  // namespace

void write_summary(JsonWriter& json, Summary const& summary, Seconds wall, std::optional<Why> const& why) {
  json.begin_object();
  json.member("scenario", summary.scenario);
  json.member("feasible", true);
  json.member("reason", nullptr);
  json.member("way_out", summary.way_out.empty() ? std::optional<std::string>{} : summary.way_out);
  json.member("clock", name_of(summary.clock));
  json.member("world_size", summary.world_size);
  json.member("tokens", summary.tokens);
  json.member("counted", summary.counted);
  json.member("step_time_s", summary.step_time);
  json.member("tokens_per_s", summary.token_rate.count());
  json.member("tokens_per_s_per_gpu", summary.token_rate_per_gpu.count());
  json.member("model_tflops_per_gpu", summary.model_rate_per_gpu.count() / 1e12);
  json.member("mfu", summary.mfu);
  json.member("hfu", summary.hfu);
  json.member("fits", summary.fits);
  write_memory(json, summary);
  write_does_not_fit(json, summary);
  write_time(json, summary);
  if (!summary.stages.empty()) write_stages(json, summary.stages);
  write_network(json, summary);
  write_interval(json, summary);
  json.member("calibration", summary.calibration);
  json.member("events", summary.events);
  if (summary.network_is_free) json.member("network_free", true);
  if (why) write_why(json, *why);
  json.member("wall_s", wall.count());
  json.end_object();
}

void write_summary(JsonWriter& json, Infeasible const& infeasible, Seconds wall) {
  json.begin_object();
  json.member("scenario", infeasible.scenario);
  json.member("feasible", false);
  json.member("reason", infeasible.reason);
  json.member("way_out", infeasible.way_out);
  for (auto const* const key : {"clock", "world_size", "tokens", "counted", "step_time_s", "tokens_per_s",
                                "tokens_per_s_per_gpu", "model_tflops_per_gpu", "mfu", "hfu"})
    json.member(key, nullptr);
  json.member("fits", false);
  for (auto const* const key : {"peak_memory_bytes",
                                "memory_capacity_bytes",
                                "memory",
                                "memory_peak",
                                "memory_candidates",
                                "memory_warning",
                                "reserved_memory_bytes",
                                "memory_allocator",
                                "host_memory_bytes",
                                "host_memory_capacity_bytes",
                                "nvme_bytes",
                                "nvme_capacity_bytes",
                                "does_not_fit",
                                "exposed_communication_s",
                                "communication_s",
                                "breakdown",
                                "bytes_on_wire",
                                "links",
                                "interval",
                                "calibration",
                                "events"})
    json.member(key, nullptr);
  json.member("wall_s", wall.count());
  json.end_object();
}

}  // namespace twinstep::reports
