#include "sim/engine/step.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::engine {

using namespace program;

Step::Step(StepProgram const& program, Machine const& machine, RunOptions options)
    : program_{program},
      machine_{machine},
      options_{options},
      cells_{program, options.fidelity == Fidelity::kExact ? Merging::kNone : Merging::kAlike},
      resources_{cells_, machine, options.fidelity, clock_},
      host_paths_{program, cells_, machine},
      transfers_{program, cells_, machine, options.fidelity, host_paths_.resources()},
      lists_(program.roles.begin(), program.roles.end()),
      replays_(transfers_.size()) {
  clock_.expect_transfers(transfers_.size());
  for (std::size_t c = 0; c < cells_.size(); ++c) add_cell(CellId{c});
  if (program.repeat) beginnings_ = beginnings_of(program, *states_.front().role);
  counts_.resize(beginnings_.size());
}

Step::RoleLists::RoleLists(Role const& role) : buffers{role}, queues(role.streams.size()) {
  for (std::size_t i = 0; i < role.operations.size(); ++i)
    if (auto const& op = role.operations[i]; !op.is_on_host()) queues[op.stream.index()].emplace_back(i);
}

void Step::add_cell(CellId id) {
  auto const& role = program_.roles[cells_.role(id).index()];
  auto const& lists = lists_[cells_.role(id).index()];
  auto const track = timeline::TrackId{id.index()};
  auto& cell = states_.emplace_back();
  cell.role = &role;
  cell.rank = cells_.representative(id);
  cell.multiplicity = cells_.multiplicity(id);
  cell.first_span = spans_.size();
  cell.first_stream = streams_.size();
  ledgers_.emplace_back(program_, role, lists.buffers, cell.rank, track, machine_);
  dirty_.push_back(static_cast<std::uint32_t>(id.index()));

  for (auto const& queue : lists.queues)
    streams_.push_back({.cell = static_cast<std::uint32_t>(id.index()), .queue = queue});
  spans_.reserve(spans_.size() + role.operations.size());
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    auto const& op = role.operations[i];
    spans_.push_back({.track = track,
                      .stream = op.stream,
                      .op = OpId{i},
                      .name = op.name,
                      .scope = op.scope,
                      .kind = work_kind_of(role, op),
                      .issue = kNever,
                      .end = kNever});
  }
  unfinished_ += role.operations.size();
}

void Step::mark(CellState& cell) {
  if (cell.is_dirty) return;
  cell.is_dirty = true;
  dirty_.push_back(static_cast<std::uint32_t>(&cell - states_.data()));
}

void Step::start_ready_operations() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {  // NOLINT(modernize-loop-convert): it grows meanwhile
    auto& cell = states_[dirty_[i]];
    cell.is_dirty = false;
    issue(cell);
    for (std::size_t s = 0; s < cell.role->streams.size(); ++s)
      start_next(static_cast<std::uint32_t>(cell.first_stream + s));
  }
  dirty_.clear();
}

/// The host issues operations one after another, each at its cost, until it has to wait for the device.
void Step::issue(CellState& cell) {
  auto const& host = machine_.cluster().node().host;
  for (; cell.next_issue < cell.role->operations.size(); ++cell.next_issue) {
    auto const id = OpId{cell.next_issue};
    auto const& op = cell.role->operations[cell.next_issue];
    auto& span = span_of(cell, id);
    if (op.is_on_host()) {
      if (!issue_host_operation(cell, op, span)) return;
      continue;
    }
    auto const is_communication = std::holds_alternative<Communication>(op.work);
    auto const cost = is_communication ? host.communication_launch.value : host.launch.value;
    cell.host_time += cost * static_cast<std::int64_t>(op.launches);
    span.issue = cell.host_time;
  }
}

/// The host waits until what it names has ended, then works. False if it has to go on waiting.
bool Step::issue_host_operation(CellState& cell, Operation const& op, timeline::Span& span) {
  if (span.issue == kNever) span.issue = cell.host_time;
  auto arrive = cell.host_time;
  for (auto const wait : cell.role->waits_of(op)) {
    auto const end = span_of(cell, wait).end;
    if (end == kNever) return false;
    arrive = std::max(arrive, end);
  }
  cell.host_time = arrive + std::get<Delay>(op.work).duration;
  span.arrive = span.start = arrive;
  span.end = cell.host_time;
  --unfinished_;
  return true;
}

/// Starts the next operation of a stream if everything that it needs has happened.
void Step::start_next(std::uint32_t index) {
  auto& stream = streams_[index];
  if (stream.is_busy || stream.next == stream.queue.size()) return;
  auto& cell = states_[stream.cell];
  auto const id = stream.queue[stream.next];
  auto const& op = cell.role->operations[id.index()];
  auto& span = span_of(cell, id);
  if (span.issue == kNever) return;
  auto ready = std::max(span.issue, stream.last_end);
  for (auto const wait : cell.role->waits_of(op)) {
    auto const end = span_of(cell, wait).end;
    if (end == kNever) return;
    ready = std::max(ready, end);
  }
  if (ready > clock_.now()) {
    if (stream.wakes == ready) return;
    stream.wakes = ready;
    clock_.wait_until(ready, EventKind::kStreamWakes, index);
    return;
  }
  span.arrive = ready;
  stream.is_busy = true;
  begin(index, id);
}

void Step::begin(std::uint32_t index, OpId id) {
  auto& stream = streams_[index];
  auto& cell = states_[stream.cell];
  auto const& op = cell.role->operations[id.index()];
  span_of(cell, id).start = clock_.now();
  if (stream.cell == 0 && !beginnings_.empty()) count_at_beginning(id);
  if (auto const* communication = std::get_if<Communication>(&op.work))
    arrive(index, id, *communication);
  else if (auto const* copy = std::get_if<Copy>(&op.work))
    begin_copy(index, *copy);
  else if (auto const* delay = std::get_if<Delay>(&op.work))
    begin_delay(index, delay->duration);
  else
    begin_kernel(index, op);
}

void Step::begin_kernel(std::uint32_t index, Operation const& op) {
  auto& stream = streams_[index];
  auto const& cell = states_[stream.cell];
  if (cell.role->streams[op.stream.index()].is_on_host) {
    auto const* elementwise = std::get_if<Elementwise>(&op.work);
    TWINSTEP_CHECK(elementwise != nullptr, "only memory-bound kernels run on the host");
    auto const elements = program_.evaluate(elementwise->elements, cell.rank);
    return begin_host_kernel(index, Bytes{elements * elementwise->bytes_per_element});
  }
  auto const demand = kernel_demand(cell, op);
  if (demand.memory == Bytes{}) return begin_delay(index, demand.start + demand.compute);
  uses_.assign(1, {resources_.memory(CellId{stream.cell}), static_cast<double>(demand.memory.count())});
  auto const bytes = uses_.front().bytes;
  auto const flow = begin_operation_flow(index, clock_.now() + demand.start, bytes, demand.compute);
  if (demand.compute > Duration{}) stream.kernel = flow;
}

/// Of a kernel on the device, with the SMs that are free now.
cost::KernelDemand Step::kernel_demand(CellState const& cell, Operation const& op) const {
  auto const* elementwise = std::get_if<Elementwise>(&op.work);
  auto const elements = elementwise != nullptr ? program_.evaluate(elementwise->elements, cell.rank) : 0;
  return machine_.kernels().demand(op.work, elements, cell.held_sms);
}

/// Communication takes SMs, or gives them back: kernels that run do what is left of them with those that are free.
void Step::hold_sms(CellState& cell, std::int64_t more) {
  if (more == 0) return;
  cell.held_sms += more;
  for (std::size_t s = cell.first_stream; s < cell.first_stream + cell.role->streams.size(); ++s) {
    auto const& stream = streams_[s];
    if (stream.kernel == kNone) continue;
    auto const demand = kernel_demand(cell, cell.role->operations[stream.queue[stream.next].index()]);
    uses_.assign(1, {resources_.memory(CellId{stream.cell}), static_cast<double>(demand.memory.count())});
    clock_.change_least(stream.kernel, {uses_, uses_.front().bytes, demand.compute});
  }
}

/// The ranks of a node share their host's memory.
void Step::begin_host_kernel(std::uint32_t index, Bytes bytes) {
  if (bytes == Bytes{}) return begin_delay(index, {});
  auto const cell = CellId{streams_[index].cell};
  auto const [memory, ranks] = host_paths_.memory(cell);
  auto const reached = machine_.cluster().node().host.memory_efficiency.value;
  uses_.clear();
  auto const of_rank = static_cast<double>(bytes.count()) / reached;
  resources_.add_use(memory, of_rank * ranks, cell, uses_);
  begin_operation_flow(index, clock_.now(), of_rank, Duration{});
}

void Step::begin_copy(std::uint32_t index, Copy const& copy) {
  auto const cell_id = CellId{streams_[index].cell};
  auto& cell = states_[cell_id.index()];
  auto const bytes = Bytes{program_.evaluate(copy.bytes, cell.rank)};
  span_of(cell, streams_[index].queue[streams_[index].next]).bytes = bytes;
  auto const start = machine_.cluster().node().gpu.kernel_start.value;
  if (bytes == Bytes{}) return begin_delay(index, start);
  auto const moved = static_cast<double>(bytes.count());
  auto const is_inside = copy.direction == CopyDirection::kDeviceToDevice;
  auto const uses_device = copy.direction != CopyDirection::kHostToNvme && copy.direction != CopyDirection::kNvmeToHost;
  uses_.clear();
  if (uses_device) uses_.push_back({resources_.memory(cell_id), is_inside ? 2 * moved : moved});
  if (!is_inside) {
    auto const hops = host_paths_.of(copy.direction, cell_id);
    TWINSTEP_CHECK(!hops.empty(), "a program uses drives only where a node has them");
    for (auto const& hop : hops) resources_.add_use(hop.resource, moved * hop.weight, cell_id, uses_);
  }
  begin_operation_flow(index, clock_.now() + start, moved, Duration{});
}

void Step::begin_delay(std::uint32_t index, Duration duration) {
  clock_.wait_until(clock_.now() + duration, EventKind::kOperationEnds, index);
}

/// Starts a flow with the uses in `uses_`, of which one rank moves `bytes`.
std::uint32_t Step::begin_operation_flow(std::uint32_t index, Time begins, double bytes, Duration least) {
  return clock_.flow(begins, {uses_, bytes, least}, EventKind::kOperationEnds, index);
}

void Step::finish(Event const& completion) {
  switch (completion.kind()) {
    case EventKind::kOperationEnds: end_operation(completion.subject); break;
    case EventKind::kStreamWakes: mark(states_[streams_[completion.subject].cell]); break;
    case EventKind::kLatencyOver: begin_phase_flows(completion.subject); break;
    case EventKind::kTransferFlowEnds: end_phase_flow(completion.subject); break;
    case EventKind::kMessageMayFlow:
      replays_[completion.subject]->let_flow(clock_, completion.detail());
      return end_replay_if_done(completion.subject);
    case EventKind::kMessageEnds:
      replays_[completion.subject]->end_message(clock_, completion.detail());
      return end_replay_if_done(completion.subject);
    case EventKind::kFlowEnds: TWINSTEP_UNREACHABLE("the clock tells whose flow has ended");
  }
}

void Step::end_operation(std::uint32_t index) {
  auto& stream = streams_[index];
  auto& cell = states_[stream.cell];
  auto const id = stream.queue[stream.next++];
  span_of(cell, id).end = clock_.now();
  stream.is_busy = false;
  stream.kernel = kNone;
  stream.last_end = clock_.now();
  ledgers_[stream.cell].on_end(id, clock_.now());
  --unfinished_;
  mark(cell);
}

}  // namespace twinstep::engine
