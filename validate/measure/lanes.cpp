#include "validate/measure/lanes.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/check.hpp"

namespace twinstep::measure {
namespace {

using namespace program;
using timeline::Span;
using timeline::Timeline;

int repetitions(Lane const& lane) {
  return lane.warm_up + lane.iterations;
}

/// Writes the buffers and the operation of one lane.
class LaneWriter {
 public:
  LaneWriter(ProgramBuilder& builder, RoleBuilder& role, std::size_t number)
      : builder_{builder}, role_{role}, name_{fmt::format("lane.{}", number)}, stream_{role.stream(name_)} {}

  [[nodiscard]] StreamId stream() const { return stream_; }

  void prepare(Workload const& work) {
    role_.enter({.unit = builder_.name(name_)});
    std::visit([this](auto const& each) { prepare(each); }, work);
  }

  void repeat(Workload const& work) {
    role_.enter({.unit = builder_.name(name_)});
    if (auto const* exchange = std::get_if<Exchange>(&work)) {
      add_exchange(builder_, role_, stream_, communicator_, *exchange, plan_);
      return;
    }
    std::visit(
        [this](auto const& each) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(each)>, Exchange>)
            role_.add(stream_, builder_.name("repetition"), each, std::span<Access const>{accesses_});
        },
        work);
  }

 private:
  void prepare(Exchange const& exchange) {
    communicator_ = builder_.communicator(name_, {"data"});
    auto const sent = filled("sent", exchange.elements, exchange.type);
    auto const received = filled("received", exchange.elements, exchange.type);
    plan_ = plan_of(exchange, sent, received, builder_);
  }
  void prepare(Gemm const& gemm) {
    auto const shape = fmt::format("{}x{}x{}x{}", gemm.batch, gemm.m, gemm.n, gemm.k);
    auto const a = operand(shape + ".a", gemm.batch * gemm.m * gemm.k, gemm.type);
    auto const b = operand(shape + ".b", gemm.batch * gemm.k * gemm.n, gemm.type);
    auto const c = filled("c", gemm.batch * gemm.m * gemm.n, gemm.type);
    accesses_ = {reads(role_.whole(a)), reads(role_.whole(b)), writes(role_.whole(c))};
    if (gemm.accumulate) accesses_.back().mode = AccessMode::kReadWrite;
  }
  void prepare(Attention const& attention) {
    auto const rows = attention.batch * attention.head_size;
    auto const queries = rows * attention.heads * attention.query_length;
    auto const keys = rows * attention.kv_heads * attention.key_length;
    auto const shape = fmt::format("{}x{}", queries, keys);
    for (auto const& [name, elements] : {std::pair{".q", queries}, {".k", keys}, {".v", keys}})
      accesses_.push_back(reads(role_.whole(operand(shape + name, elements, attention.type))));
    accesses_.push_back(writes(role_.whole(filled("output", queries, attention.type))));
  }
  void prepare(Elementwise const& kernel) {
    auto const inputs = kernel.function == Function::kFill ? 0 : kernel.function == Function::kAdd ? 2 : 1;
    for (int i = 0; i < inputs; ++i)
      accesses_.push_back(reads(role_.whole(filled(fmt::format("in.{}", i), kernel.elements.base, kernel.type))));
    accesses_.push_back(writes(role_.whole(filled("out", kernel.elements.base, kernel.type))));
  }
  void prepare(Copy const& copy) {
    using enum CopyDirection;
    constexpr auto kType = DataType::kFp32;
    auto const elements = copy.bytes.base / size_of(kType).count();
    auto const from = copy.direction == kHostToDevice ? MemorySpace::kHost : MemorySpace::kDevice;
    auto const to = copy.direction == kDeviceToHost ? MemorySpace::kHost : MemorySpace::kDevice;
    accesses_ = {reads(role_.whole(filled("from", elements, kType, from))),
                 writes(role_.whole(filled("to", elements, kType, to)))};
  }

  BufferId operand(std::string const& name, std::int64_t elements, DataType type) {
    return role_.buffer({.name = builder_.name(name),
                         .elements = elements,
                         .type = type,
                         .category = MemoryCategory::kInputs,
                         .is_persistent = true});
  }

  BufferId filled(std::string const& name, std::int64_t elements, DataType type,
                  MemorySpace space = MemorySpace::kDevice) {
    auto const buffer = role_.buffer({.name = builder_.name(name),
                                      .elements = elements,
                                      .type = type,
                                      .category = MemoryCategory::kWorkspace,
                                      .space = space});
    auto const kernel = Elementwise{.function = Function::kFill,
                                    .elements = elements,
                                    .bytes_per_element = static_cast<std::int32_t>(size_of(type).count()),
                                    .type = type,
                                    .scalar = 0};
    role_.add(stream_, builder_.name("fill"), kernel, {writes(role_.whole(buffer))});
    return buffer;
  }

  ProgramBuilder& builder_;
  RoleBuilder& role_;
  std::string name_;
  StreamId stream_;
  CommunicatorId communicator_;
  ExchangePlan plan_;
  std::vector<Access> accesses_;
};

/// The host issues repetitions of all lanes in proportion, so that none runs dry.
void issue_all(std::span<Lane const> lanes, std::vector<LaneWriter>& writers) {
  auto const most = repetitions(*std::ranges::max_element(lanes, {}, repetitions));
  for (int turn = 0; turn < most; ++turn)
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      auto const count = static_cast<std::int64_t>(repetitions(lanes[i]));
      if (count * (turn + 1) / most > count * turn / most) writers[i].repeat(lanes[i].work);
    }
}

/// The spans of one track that count, of one lane.
std::vector<Span const*> counted_spans(Timeline const& timeline, timeline::TrackId track, std::size_t lane,
                                       int iterations) {
  auto spans = std::vector<Span const*>{};
  for (auto const& span : timeline.spans)
    if (span.track == track && span.stream == StreamId{lane}) spans.push_back(&span);
  TWINSTEP_CHECK(spans.size() >= static_cast<std::size_t>(iterations), "a timeline of all repetitions");
  return {spans.end() - iterations, spans.end()};
}

/// When the first rank has ended the last repetition of any lane.
Time end_of_first(std::vector<std::vector<Span const*>> const& of_lanes) {
  auto end = kNever;
  for (auto const& spans : of_lanes) end = std::min(end, spans.back()->end);
  return end;
}

}  // namespace

program::StepProgram program_of(std::span<Lane const> lanes, std::int64_t ranks) {
  auto builder = ProgramBuilder{Grid{{{"data", ranks}}}};
  auto& role = builder.role("rank");
  auto writers = std::vector<LaneWriter>{};
  for (std::size_t i = 0; i < lanes.size(); ++i) writers.emplace_back(builder, role, i);
  for (std::size_t i = 0; i < lanes.size(); ++i) writers[i].prepare(lanes[i].work);
  for (auto const& other : writers)  // all begin when all buffers are filled
    if (role.last_on(other.stream()).exists())
      for (auto const& writer : writers) role.wait(writer.stream(), role.last_on(other.stream()));
  issue_all(lanes, writers);
  return std::move(builder).finish();
}

std::vector<LaneTime> times_of(timeline::Timeline const& timeline, std::span<Lane const> lanes) {
  auto times = std::vector<LaneTime>(lanes.size());
  auto by_track = std::vector<std::vector<std::vector<Span const*>>>{};
  auto overlap_end = kNever;
  for (std::size_t track = 0; track < timeline.tracks.size(); ++track) {
    auto& of_lanes = by_track.emplace_back();
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      of_lanes.push_back(counted_spans(timeline, timeline::TrackId{track}, lane, lanes[lane].iterations));
    overlap_end = std::min(overlap_end, end_of_first(of_lanes));
  }
  if (lanes.size() == 1) overlap_end = kNever;
  for (auto const& of_lanes : by_track)
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      auto const& spans = of_lanes[lane];
      auto const ended = std::ranges::count_if(spans, [&](Span const* span) { return span->end <= overlap_end; });
      auto const count = std::max<std::ptrdiff_t>(ended, 1);
      auto const& last = *spans[static_cast<std::size_t>(count - 1)];
      times[lane].each = std::max(times[lane].each, (last.end - spans.front()->arrive) / count);
      auto const gaps = std::max<std::ptrdiff_t>(std::ssize(spans) - 1, 1);
      times[lane].issue = std::max(times[lane].issue, (spans.back()->issue - spans.front()->issue) / gaps);
    }
  return times;
}

}  // namespace twinstep::measure
