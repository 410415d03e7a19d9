#include "reports/compare_json.hpp"

#include "reports/json_writer.hpp"

namespace twinstep::reports {
namespace {

template <class Quantity>
void write_pair(JsonWriter& json, std::string_view name_a, std::string_view name_b, Pair<Quantity> const& pair) {
  json.member(name_a, pair.a);
  json.member(name_b, pair.b);
  json.member("ratio", pair.ratio());
}

template <class Items, class Write>
void write_array(JsonWriter& json, std::string_view key, Items const& items, Write const& write) {
  json.key(key);
  json.begin_array();
  for (auto const& item : items) write(item);
  json.end_array();
}

void write_side(JsonWriter& json, std::string_view key, timeline::Manifest const& manifest) {
  json.key(key);
  json.begin_object();
  json.member("scenario", manifest.scenario);
  json.member("clock", name_of(manifest.clock));
  json.member("world_size", manifest.world_size);
  json.member("calibration", manifest.calibration);
  json.member("program_hash", manifest.program_hash);
  json.member("machine_hash", manifest.machine_hash);
  json.end_object();
}

/// What a matched and a lone operation have in common.
template <class SpanRow>
void write_operation(JsonWriter& json, SpanRow const& span) {
  json.member("role", span.role);
  json.member("operation", span.what);
  json.member("occurrence", span.occurrence);
  json.member("kind", name_of(span.kind));
}

void write_lone_spans(JsonWriter& json, std::string_view key, std::vector<LoneSpan> const& spans) {
  write_array(json, key, spans, [&](LoneSpan const& span) {
    json.begin_object();
    write_operation(json, span);
    json.member("seconds", span.time);
    json.end_object();
  });
}

void write_memory(JsonWriter& json, Comparison const& comparison) {
  json.key("peak_memory");
  json.begin_object();
  write_pair(json, "a_bytes", "b_bytes", comparison.peak);
  json.end_object();
  write_array(json, "memory", comparison.memory, [&](CategoryDifference const& row) {
    json.begin_object();
    json.member("category", name_of(row.category));
    write_pair(json, "a_bytes", "b_bytes", row.bytes);
    json.end_object();
  });
}

}  // namespace

std::string compare_json(Comparison const& comparison) {
  auto json = JsonWriter{};
  json.begin_object();
  write_side(json, "a", comparison.manifest_a);
  write_side(json, "b", comparison.manifest_b);
  json.key("step_time");
  json.begin_object();
  write_pair(json, "a_s", "b_s", comparison.step_time);
  json.end_object();
  write_array(json, "breakdown", comparison.shares, [&](ShareDifference const& row) {
    json.begin_object();
    json.member("name", row.name);
    write_pair(json, "a_s", "b_s", row.time);
    json.end_object();
  });
  write_array(json, "kinds", comparison.kinds, [&](KindDifference const& row) {
    json.begin_object();
    json.member("kind", name_of(row.kind));
    write_pair(json, "a_s", "b_s", row.time);
    json.member("a_spans", row.spans.a);
    json.member("b_spans", row.spans.b);
    json.end_object();
  });
  write_memory(json, comparison);
  write_array(json, "roles_only_a", comparison.roles_only_a, [&](std::string const& role) { json.value(role); });
  write_array(json, "roles_only_b", comparison.roles_only_b, [&](std::string const& role) { json.value(role); });
  write_lone_spans(json, "only_a", comparison.only_a);
  write_lone_spans(json, "only_b", comparison.only_b);
  write_array(json, "spans", comparison.spans, [&](SpanDifference const& span) {
    json.begin_object();
    write_operation(json, span);
    write_pair(json, "a_s", "b_s", span.time);
    json.end_object();
  });
  json.end_object();
  return std::move(json).finish();
}

}  // namespace twinstep::reports
