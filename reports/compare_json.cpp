#include "reports/compare.hpp"
#include "sim/io/json_writer.hpp"

namespace twinstep::reports {

using io::JsonWriter;
namespace {

template <class Quantity>
void write_pair(JsonWriter& json, std::string_view name_a, std::string_view name_b, Pair<Quantity> const& pair) {
  json.member(name_a, pair.a);
  json.member(name_b, pair.b);
  json.member("ratio", pair.ratio());
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
  write_array(json, key, spans, [](JsonWriter& out, LoneSpan const& span) {
    out.begin_object();
    write_operation(out, span);
    out.member("seconds", span.time);
    out.end_object();
  });
}

void write_memory(JsonWriter& json, Comparison const& comparison) {
  json.key("peak_memory");
  json.begin_object();
  write_pair(json, "a_bytes", "b_bytes", comparison.peak);
  json.end_object();
  write_array(json, "memory", comparison.memory, [](JsonWriter& out, CategoryDifference const& row) {
    out.begin_object();
    out.member("category", name_of(row.category));
    write_pair(out, "a_bytes", "b_bytes", row.bytes);
    out.end_object();
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
  write_array(json, "breakdown", comparison.shares, [](JsonWriter& out, ShareDifference const& row) {
    out.begin_object();
    out.member("name", row.name);
    write_pair(out, "a_s", "b_s", row.time);
    out.end_object();
  });
  write_array(json, "kinds", comparison.kinds, [](JsonWriter& out, KindDifference const& row) {
    out.begin_object();
    out.member("kind", name_of(row.kind));
    write_pair(out, "a_s", "b_s", row.time);
    out.member("a_spans", row.spans.a);
    out.member("b_spans", row.spans.b);
    out.end_object();
  });
  write_memory(json, comparison);
  write_values(json, "roles_only_a", comparison.roles_only_a);
  write_values(json, "roles_only_b", comparison.roles_only_b);
  write_lone_spans(json, "only_a", comparison.only_a);
  write_lone_spans(json, "only_b", comparison.only_b);
  write_array(json, "spans", comparison.spans, [](JsonWriter& out, SpanDifference const& span) {
    out.begin_object();
    write_operation(out, span);
    write_pair(out, "a_s", "b_s", span.time);
    out.end_object();
  });
  json.end_object();
  return std::move(json).finish();
}

}  // namespace twinstep::reports
