#include "sim/io/timeline_json.hpp"

#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/io/scope_json.hpp"

namespace twinstep::io {
namespace {

using namespace timeline;
using program::ScopeId;

class TimelineReader {
 public:
  Timeline read(Node const& document);

 private:
  void read_manifest(Node const& node);
  Track track(Node const& node) const;
  Span span(Node const& node);
  LinkTraffic link(Node const& node) const;
  MemorySample sample(Node const& node) const;
  Traffic traffic(Node const& node) const;
  NameId name(std::string_view text);
  ScopeId scope(Node const& owner);
  TrackId track_id(Node const& node, std::int64_t first) const;

  Timeline timeline_;
  std::unordered_map<std::string, NameId> ids_;
  program::ScopeIds scope_ids_;
};

/// An index counted from `first` that an id can hold.
std::size_t index(Node const& node, std::int64_t first = 0) {
  auto const value = node.integer_from(first) - first;
  constexpr std::int64_t kMost = 0xffff'fffe;
  if (value > kMost) node.fail(fmt::format("found the index {}, expected one below 2^32", value), "count from 0");
  return static_cast<std::size_t>(value);
}

Time time(Node const& node) {
  return Time{node.integer_from(0)};
}

/// A count beyond 63 bits has the precision of a double.
TotalBytes read_total(Node const& node) {
  constexpr auto kLargest = 0x1p63;
  if (node.is(Node::Type::kNumber) && node.number() >= kLargest && node.number() < 0x1p127)
    return TotalBytes::about(node.number());
  return Bytes{node.integer_from(0)};
}

/// A complete event, but for the mark of the step and the host's launches.
bool is_span(Node const& event) {
  auto const phase = event.find("ph");
  if (!phase || phase->string() != "X") return false;
  auto const category = event.find("cat");
  return !category || (category->string() != "user_annotation" && category->string() != "cuda_runtime");
}

Timeline TimelineReader::read(Node const& document) {
  auto const rest = document.at("twinstep");
  rest.allow_only({"kind", "manifest", "step_time_ps", "events", "wire", "names", "scopes", "tracks", "links", "memory",
                   "traffic"});
  if (auto const kind = rest.at("kind"); kind.string() != "timeline")
    kind.fail(fmt::format("found {}, expected \"timeline\"", quoted(kind.string())),
              "give a file that holds a timeline");
  read_manifest(rest.at("manifest"));
  timeline_.step_time = time(rest.at("step_time_ps"));
  timeline_.events = rest.at("events").integer_from(0);
  auto const wire = rest.at("wire");
  timeline_.wire = {read_total(wire.at("intra")), read_total(wire.at("inter"))};
  for (auto const& node : rest.at("names").elements()) static_cast<void>(name(node.string()));
  if (auto const scopes = rest.find("scopes"))
    for (auto const& node : scopes->elements()) static_cast<void>(scope(node));
  for (auto const& node : rest.at("tracks").elements()) timeline_.tracks.push_back(track(node));
  for (auto const& node : rest.at("links").elements()) timeline_.links.push_back(link(node));
  for (auto const& node : rest.at("memory").elements()) timeline_.memory.push_back(sample(node));
  if (auto const traffic = rest.find("traffic"))
    for (auto const& node : traffic->elements()) timeline_.traffic.push_back(this->traffic(node));
  for (auto const& node : document.at("traceEvents").elements())
    if (is_span(node)) timeline_.spans.push_back(span(node));
  return std::move(timeline_);
}

/// Names are printed: one that breaks the line or speaks to the terminal is shown with escapes.
std::string printable(Node const& node) {
  return one_line(node.string());
}

ScopeId TimelineReader::scope(Node const& owner) {
  auto const found = read_scope(owner);
  auto const unit = found.unit.empty() ? NameId{} : name(found.unit);
  return scope_ids_.id_of({unit, found.pass, found.micro_batch}, timeline_.scopes);
}

NameId TimelineReader::name(std::string_view text) {
  auto const [entry, is_new] = ids_.try_emplace(one_line(text), timeline_.names.size());
  if (is_new) timeline_.names.push_back(entry->first);
  return entry->second;
}

void TimelineReader::read_manifest(Node const& node) {
  auto& manifest = timeline_.manifest;
  manifest.version = printable(node.at("version"));
  manifest.clock = node.at("clock").word<Clock>();
  manifest.scenario = printable(node.at("scenario"));
  manifest.calibration = printable(node.at("calibration"));
  manifest.program_hash = node.at("program_hash").string();
  manifest.machine_hash = node.at("machine_hash").string();
  manifest.world_size = node.at("world_size").integer_from(1);
  manifest.tokens = node.at("tokens").integer_from(0);
  manifest.model_flops = Flops{node.at("model_flops").number()};
  manifest.hardware_flops = Flops{node.at("hardware_flops").number()};
  if (auto const peak = node.find("peak")) manifest.peak = peak->flop_rate();
  manifest.memory_capacity = node.at("memory_capacity").bytes();
}

Track TimelineReader::track(Node const& node) const {
  auto out =
      Track{printable(node.at("role")), RankId{index(node.at("rank"))}, node.at("multiplicity").integer_from(1), {}};
  for (auto const& stream : node.at("streams").elements()) out.streams.push_back(printable(stream));
  if (auto const use = node.find("allocator"))
    out.allocator = {use->at("segments").integer_from(0), use->at("retries").integer_from(0)};
  return out;
}

LinkTraffic TimelineReader::link(Node const& node) const {
  auto out = LinkTraffic{printable(node.at("name")),
                         node.at("is_inter_node").boolean(),
                         Bytes{node.at("bytes").integer_from(0)},
                         node.at("links").integer_from(0),
                         {}};
  if (auto const bandwidth = node.find("bandwidth")) out.bandwidth = bandwidth->bandwidth();
  return out;
}

TrackId TimelineReader::track_id(Node const& node, std::int64_t first) const {
  auto const id = index(node, first);
  if (id >= timeline_.tracks.size())
    node.fail(fmt::format("found {}, expected one of the {} tracks", node.integer(), timeline_.tracks.size()),
              fmt::format("count from {}", first));
  return TrackId{id};
}

MemorySample TimelineReader::sample(Node const& node) const {
  auto const fields = node.elements();
  constexpr std::size_t kFields = 5;
  if (fields.size() != kFields)
    node.fail(fmt::format("found {} fields, expected track, time, category, space and change", fields.size()), "");
  return {track_id(fields[0], 0), time(fields[1]), fields[2].word<program::MemoryCategory>(),
          fields[3].word<program::MemorySpace>(), Bytes{fields[4].integer()}};
}

Traffic TimelineReader::traffic(Node const& node) const {
  auto const fields = node.elements();
  constexpr std::size_t kFields = 5;
  if (fields.size() != kFields)
    node.fail(
        fmt::format("found {} fields, expected track, begin, end, and bytes inside nodes and between", fields.size()),
        "");
  auto const out = Traffic{track_id(fields[0], 0),
                           time(fields[1]),
                           time(fields[2]),
                           {Bytes{fields[3].integer_from(0)}, Bytes{fields[4].integer_from(0)}}};
  if (out.begin >= out.end)
    node.fail(fmt::format("found the begin {} and the end {}, expected them in this order", out.begin.count(),
                          out.end.count()),
              "correct what makes the timeline");
  return out;
}

Span TimelineReader::span(Node const& node) {
  auto out = Span{};
  out.track = track_id(node.at("pid"), 1);
  auto const thread = node.at("tid");
  auto const& streams = timeline_.tracks[out.track.index()].streams;
  if (auto const number = index(thread, 1); number > streams.size())
    thread.fail(fmt::format("found thread {}, expected the host's 1 or one of {} streams", number + 1, streams.size()),
                "streams count from 2");
  else if (number > 0)
    out.stream = StreamId{number - 1};
  out.name = name(node.at("name").string());
  auto const args = node.at("args");
  out.kind = args.at("kind").word<program::WorkKind>();
  if (auto const op = args.find("correlation")) out.op = OpId{index(*op)};
  out.scope = scope(args);
  for (auto const* const key : {"bytes", "In msg nelems", "Out msg nelems"})
    if (auto const bytes = args.find(key)) out.bytes = Bytes{bytes->integer_from(0)};
  out.issue = time(args.at("issue_ps"));
  out.arrive = time(args.at("arrive_ps"));
  out.start = time(args.at("start_ps"));
  out.end = time(args.at("end_ps"));
  if (out.issue > out.arrive || out.arrive > out.start || out.start > out.end)
    args.fail(fmt::format("found issue {}, arrive {}, start {}, end {}, expected them in this order", out.issue.count(),
                          out.arrive.count(), out.start.count(), out.end.count()),
              "correct what makes the timeline");
  return out;
}

}  // namespace

Timeline read_timeline(Node const& document) {
  return TimelineReader{}.read(document);
}

}  // namespace twinstep::io
