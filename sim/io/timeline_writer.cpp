#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/io/json_text.hpp"
#include "sim/io/json_writer.hpp"
#include "sim/io/quantity.hpp"
#include "sim/io/scope_json.hpp"
#include "sim/io/timeline_json.hpp"

namespace twinstep::io {
namespace {

using namespace timeline;
using program::MemoryCategory;
using program::MemorySpace;
using program::WorkKind;

/// libkineto's name for what a span is (src/ActivityType.cpp).
std::string_view kineto_category(Span const& span) {
  if (!span.stream.exists() || span.kind == WorkKind::kHost) return "cpu_op";
  return span.kind == WorkKind::kCopy ? "gpu_memcpy" : "kernel";
}

/// torch.distributed's name for a communication, as ProcessGroupNCCL records it.
std::string_view c10d_name(WorkKind kind) {
  switch (kind) {
    case WorkKind::kAllReduce: return "allreduce";
    case WorkKind::kAllGather: return "_allgather_base";
    case WorkKind::kReduceScatter: return "_reduce_scatter_base";
    case WorkKind::kPointToPoint: return "send";
    case WorkKind::kGroup: return "coalesced";
    default: return name_of(kind);
  }
}

/// "rank 4 (of 8 alike), stage1".
std::string track_name(Track const& track) {
  auto const alike = track.multiplicity == 1 ? "" : fmt::format(" (of {} alike)", track.multiplicity);
  return fmt::format("rank {}{}{}{}", track.rank.index(), alike, track.role.empty() ? "" : ", ", track.role);
}

std::size_t thread_of(Span const& span) {
  return span.stream.exists() ? span.stream.index() + 2 : 1;
}

constexpr double kGiga = 1e9;

/// Bytes held, by space and category.
using Held = std::array<std::array<std::int64_t, kEnumSize<MemoryCategory>>, kEnumSize<MemorySpace>>;

class TimelineWriter : JsonText {
 public:
  explicit TimelineWriter(Timeline const& timeline) : timeline_{timeline} {
    for (auto const& scope : timeline.scopes) scopes_.push_back(io::scope_members(scope, timeline.names));
    for (std::size_t i = 0; i < scopes_.size(); ++i)
      scope_members_.push_back(
          fmt::format(R"("scope": {}, {}, )", json_string(timeline.text(program::ScopeId{i})), scopes_[i]));
  }
  std::string write();

 private:
  /// Writes items, each by `write` on a line of its own, with commas between them.
  template <class Items, class Write>
  void lines(Items const& items, Write const& write) {
    if (std::ranges::begin(items) != std::ranges::end(items)) out_ += '\n';
    list(items, "\n", write);
  }
  static std::int64_t nanoseconds(Time time) { return time.count() / 1000; }
  static std::string microseconds(std::int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }
  /// A viewer adds start and length in doubles, and Perfetto drops spans of one thread that then overlap: a nanosecond
  /// of air keeps spans apart that touch.
  static std::int64_t shown_length(Span const& span) {
    return std::max<std::int64_t>(0, nanoseconds(span.end) - nanoseconds(span.start) - 1);
  }
  void begin_event() { out_ += std::exchange(is_first_event_, false) ? "\n" : ",\n"; }
  void write_metadata(TrackId id);
  void write_step(TrackId id);
  void write_span(Span const& span);
  void write_message(Span const& span);
  void write_issue(Span const& span);
  void write_rates();
  void write_rate(std::vector<LinkRates> const& rates, std::string_view name, double LinkRates::*rate);
  void write_counters();
  void write_counter(MemorySample const& sample, Held const& held, Held const& was_used);
  void write_rest();
  void write_manifest();

  Timeline const& timeline_;
  std::vector<std::string> scopes_;         // as members of an object
  std::vector<std::string> scope_members_;  // of a span, with the text for people
  bool is_first_event_ = true;
  std::int64_t arrows_ = 0;
};

std::string TimelineWriter::write() {
  constexpr std::size_t kBytesPerSpan = 320;
  out_.reserve(timeline_.spans.size() * kBytesPerSpan + timeline_.memory.size() * kBytesPerSpan);
  put("{{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 0,\n");
  put("\"distributedInfo\": {{\"rank\": {}, \"world_size\": {}}},\n\"traceEvents\": [",
      timeline_.tracks.empty() ? 0 : timeline_.tracks.front().rank.index(), timeline_.manifest.world_size);
  for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) write_metadata(TrackId{i});
  for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) write_step(TrackId{i});
  for (auto const& span : timeline_.spans) write_span(span);
  write_counters();
  write_rates();
  put("],\n");
  write_rest();
  put("}}\n");
  return std::move(out_);
}

void TimelineWriter::write_metadata(TrackId id) {
  auto const& track = timeline_.tracks[id.index()];
  auto const pid = id.index() + 1;
  begin_event();
  put(R"({{"ph": "M", "pid": {0}, "name": "process_name", "args": {{"name": {1}}}}},)"
      "\n"
      R"({{"ph": "M", "pid": {0}, "name": "process_sort_index", "args": {{"sort_index": {0}}}}})",
      pid, json_string(track_name(track)));
  for (std::size_t i = 0; i <= track.streams.size(); ++i) {
    begin_event();
    put(R"({{"ph": "M", "pid": {0}, "tid": {1}, "name": "thread_name", "args": {{"name": {2}}}}},)"
        "\n"
        R"({{"ph": "M", "pid": {0}, "tid": {1}, "name": "thread_sort_index", "args": {{"sort_index": {1}}}}})",
        pid, i + 1, i == 0 ? std::string{"\"host\""} : json_string(track.streams[i - 1]));
  }
}

/// The step as PyTorch's profiler marks it, on the host's thread.
void TimelineWriter::write_step(TrackId id) {
  begin_event();
  put(R"({{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": {}, "tid": 1, "ts": 0.000, "dur": {}}})",
      id.index() + 1, microseconds(nanoseconds(timeline_.step_time)));
}

void TimelineWriter::write_span(Span const& span) {
  begin_event();
  put(R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"kind": "{}", )",
      kineto_category(span), json_string(timeline_.text(span.name)), span.track.index() + 1, thread_of(span),
      microseconds(nanoseconds(span.start)), microseconds(shown_length(span)), name_of(span.kind));
  if (span.stream.exists()) put(R"("device": {}, "stream": {}, )", span.track.index(), span.stream.index());
  if (span.op.exists()) put(R"("correlation": {}, )", span.op.index());
  if (span.scope.exists()) out_ += scope_members_[span.scope.index()];
  if (program::is_communication(span.kind))
    write_message(span);
  else if (span.bytes != Bytes{})
    put(R"("bytes": {}, )", span.bytes.count());
  put(R"("issue_ps": {}, "arrive_ps": {}, "start_ps": {}, "end_ps": {}}}}})", span.issue.count(), span.arrive.count(),
      span.start.count(), span.end.count());
  if (program::is_communication(span.kind) && span.stream.exists()) write_issue(span);
}

/// An arrow from the host to what it issued, as libkineto draws them from a launch to its kernel. An arrow begins in an
/// event, so the launch is one too. Viewers bind both ends to the last event of their row, which stands before them,
/// and know of an arrow from its begin on, which stands before its end also where both are at one moment.
void TimelineWriter::write_issue(Span const& span) {
  auto const pid = span.track.index() + 1;
  auto const ts = microseconds(nanoseconds(span.issue));
  ++arrows_;
  begin_event();
  put(R"({{"ph": "X", "cat": "cuda_runtime", "name": "issue", "pid": {}, "tid": 1, "ts": {}, "dur": 0.000}},)"
      "\n"
      R"({{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": 1, "ts": {}}},)"
      "\n"
      R"({{"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
      pid, ts, arrows_, pid, ts, arrows_, pid, thread_of(span), microseconds(nanoseconds(span.start)));
}

/// What one rank of each track sends, after each moment at which that changes.
void TimelineWriter::write_rates() {
  auto const rates = link_rates(timeline_);
  write_rate(rates, "sent inside the node", &LinkRates::intra);
  write_rate(rates, "sent over NICs", &LinkRates::inter);
}

void TimelineWriter::write_rate(std::vector<LinkRates> const& rates, std::string_view name, double LinkRates::*rate) {
  auto shown = LinkRates{};
  for (auto const& now : rates) {
    if (now.track != shown.track) shown = {now.track, {}};
    if (now.*rate == shown.*rate) continue;
    shown = now;
    begin_event();
    put(R"({{"ph": "C", "pid": {}, "ts": {}, "name": "{}", "args": {{"GB/s": {:.6f}}}}})", now.track.index() + 1,
        microseconds(nanoseconds(now.time)), name, now.*rate / kGiga);
  }
}

/// The message in elements of one byte. Of the sides, only the one that the bytes are of: the other depends on the
/// number of ranks.
void TimelineWriter::write_message(Span const& span) {
  put(R"("Collective name": "{}", "dtype": "Byte", )", c10d_name(span.kind));
  if (span.kind != WorkKind::kAllGather) put(R"("In msg nelems": {}, )", span.bytes.count());
  if (span.kind != WorkKind::kReduceScatter) put(R"("Out msg nelems": {}, )", span.bytes.count());
}

/// One event for each moment at which the memory of a track changes, with the sums after it. Every event of a counter
/// lists the same categories, as chrome://tracing expects.
void TimelineWriter::write_counters() {
  auto const& samples = timeline_.memory;
  for (std::size_t first = 0; first < samples.size();) {
    auto end = first;
    auto was_used = Held{};
    for (; end < samples.size() && samples[end].track == samples[first].track; ++end)
      was_used[static_cast<std::size_t>(samples[end].space)][static_cast<std::size_t>(samples[end].category)] = 1;
    auto held = Held{};
    for (auto i = first; i < end; ++i) {
      auto const& sample = samples[i];
      held[static_cast<std::size_t>(sample.space)][static_cast<std::size_t>(sample.category)] += sample.change.count();
      if (i + 1 == end || samples[i + 1].time != sample.time) write_counter(sample, held, was_used);
    }
    first = end;
  }
}

void TimelineWriter::write_counter(MemorySample const& sample, Held const& held, Held const& was_used) {
  for (std::size_t space = 0; space < held.size(); ++space) {
    auto series = std::string{};
    for (std::size_t c = 0; c < held[space].size(); ++c)
      if (was_used[space][c] != 0)
        series += fmt::format(R"({}"{}": {})", series.empty() ? "" : ", ", name_of(static_cast<MemoryCategory>(c)),
                              held[space][c]);
    if (series.empty()) continue;
    begin_event();
    put(R"({{"ph": "C", "pid": {}, "ts": {}, "name": "{} memory", "args": {{{}}}}})", sample.track.index() + 1,
        microseconds(nanoseconds(sample.time)), name_of(static_cast<MemorySpace>(space)), series);
  }
}

void TimelineWriter::write_rest() {
  put("\"twinstep\": {{\"kind\": \"timeline\",\n");
  write_manifest();
  put("\"step_time_ps\": {}, \"events\": {}, \"wire\": {{\"intra\": {}, \"inter\": {}}},\n",
      timeline_.step_time.count(), timeline_.events, timeline_.wire.intra.count(), timeline_.wire.inter.count());
  put("\"names\": [");
  lines(timeline_.names, [&](std::string const& name) { out_ += json_string(name); });
  put("],\n\"scopes\": [");
  lines(scopes_, [&](std::string const& members) { put("{{{}}}", members); });
  put("],\n\"tracks\": [");
  lines(timeline_.tracks, [&](Track const& track) {
    auto streams = std::vector<std::string>{};
    for (auto const& stream : track.streams) streams.push_back(json_string(stream));
    put(R"({{"role": {}, "rank": {}, "multiplicity": {}, "streams": [{}])", json_string(track.role), track.rank.index(),
        track.multiplicity, fmt::join(streams, ", "));
    if (auto const& use = track.allocator)
      put(R"(, "allocator": {{"segments": {}, "retries": {}}})", use->segments, use->retries);
    put("}}");
  });
  put("],\n\"links\": [");
  lines(timeline_.links, [&](LinkTraffic const& link) {
    put(R"({{"name": {}, "is_inter_node": {}, "bytes": {}, "links": {})", json_string(link.name), link.is_inter_node,
        link.bytes.count(), link.links);
    if (link.bandwidth.count() > 0) put(R"(, "bandwidth": "{}")", quantity_text(link.bandwidth));
    put("}}");
  });
  put("],\n\"memory\": [");
  lines(timeline_.memory, [&](MemorySample const& sample) {
    put(R"([{}, {}, "{}", "{}", {}])", sample.track.index(), sample.time.count(), name_of(sample.category),
        name_of(sample.space), sample.change.count());
  });
  put("],\n\"traffic\": [");
  lines(timeline_.traffic, [&](Traffic const& one) {
    put("[{}, {}, {}, {}, {}]", one.track.index(), one.begin.count(), one.end.count(), one.bytes.intra.count(),
        one.bytes.inter.count());
  });
  put("]}}\n");
}

void TimelineWriter::write_manifest() {
  auto const& manifest = timeline_.manifest;
  put("\"manifest\": {{\"version\": {}, \"clock\": \"{}\", \"scenario\": {}, \"calibration\": {},\n",
      json_string(manifest.version), name_of(manifest.clock), json_string(manifest.scenario),
      json_string(manifest.calibration));
  put(R"("program_hash": {}, "machine_hash": {}, "world_size": {}, "tokens": {}, )", json_string(manifest.program_hash),
      json_string(manifest.machine_hash), manifest.world_size, manifest.tokens);
  auto const is_finite = [](double value) { return value - value == 0; };
  TWINSTEP_CHECK(is_finite(manifest.model_flops.count()) && is_finite(manifest.hardware_flops.count()),
                 "JSON has finite numbers only");
  put(R"("model_flops": {}, "hardware_flops": {})", manifest.model_flops.count(), manifest.hardware_flops.count());
  if (manifest.peak.count() > 0) put(R"(, "peak": "{}")", quantity_text(manifest.peak));
  put(", \"memory_capacity\": \"{}\"}},\n", quantity_text(manifest.memory_capacity));
}

}  // namespace

std::string to_json(Timeline const& timeline) {
  TWINSTEP_CHECK(!timeline.repeat, "a trace shows every micro-batch");
  return TimelineWriter{timeline}.write();
}

}  // namespace twinstep::io
