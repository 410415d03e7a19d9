#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/exact/message_replay.hpp"
#include "sim/engine/flow_clock.hpp"
#include "sim/engine/host_paths.hpp"
#include "sim/engine/machine.hpp"
#include "sim/engine/memory_ledger.hpp"
#include "sim/engine/repetition.hpp"
#include "sim/engine/resource_map.hpp"
#include "sim/engine/transfers.hpp"
#include "sim/engine/virtual_executor.hpp"
#include "sim/program/projection.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// The state of one step while it runs. `run` in virtual_executor.cpp drives it.
class Step {
 public:
  Step(program::StepProgram const& program, Machine const& machine, RunOptions options);

  /// Lets every host issue what it can, and starts every operation whose stream is free and whose waits are over.
  void start_ready_operations();
  /// The next thing that completes (null: nothing): the end of a kernel, a copy or a flow, or of a fixed latency.
  [[nodiscard]] Event const* next_completion() { return clock_.next(); }
  void finish(Event const& completion);

  [[nodiscard]] bool has_unfinished_operations() const { return unfinished_ > 0; }
  [[nodiscard]] std::string who_waits_for_whom() const;
  [[nodiscard]] timeline::Timeline timeline() &&;
  /// The timeline of the whole step, of which a folded program is a part; nothing if the run does not repeat itself.
  [[nodiscard]] std::optional<timeline::Timeline> folded_timeline() &&;

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  /// What all ranks of a role share.
  struct RoleLists {
    explicit RoleLists(program::Role const& role);
    BuffersOfRole buffers;
    std::vector<std::vector<OpId>> queues;  // by stream: its operations, in order
  };
  struct StreamState {
    std::uint32_t cell = 0;
    std::span<OpId const> queue;
    std::size_t next = 0;  // in the queue: runs now or comes next
    bool is_busy = false;
    Time last_end;
    Time wakes = kNever;           // a wake-up is under way for this moment
    std::uint32_t parts_left = 0;  // of the communication that runs
    std::uint32_t kernel = kNone;  // the flow of the arithmetic that runs; its speed depends on the cell's SMs
  };
  struct CellState {
    program::Role const* role = nullptr;
    RankId rank;
    std::int64_t multiplicity = 1;
    std::size_t first_span = 0;    // its operations' spans follow each other
    std::size_t first_stream = 0;  // in streams_
    std::size_t next_issue = 0;
    Time host_time;
    std::int64_t held_sms = 0;  // by communication that is running or waiting on the device
    bool is_dirty = true;       // something happened that may let it go on
  };
  // step.cpp: the host and the streams.
  void add_cell(program::CellId cell);
  void issue(CellState& cell);
  [[nodiscard]] bool issue_host_operation(CellState& cell, program::Operation const& op, timeline::Span& span);
  void start_next(std::uint32_t stream);
  void begin(std::uint32_t stream, OpId op);
  void begin_kernel(std::uint32_t stream, program::Operation const& op);
  void begin_host_kernel(std::uint32_t stream, Bytes bytes);
  void begin_copy(std::uint32_t stream, program::Copy const& copy);
  void begin_delay(std::uint32_t stream, Duration duration);
  std::uint32_t begin_operation_flow(std::uint32_t stream, Time begins, double bytes, Duration least);
  [[nodiscard]] cost::KernelDemand kernel_demand(CellState const& cell, program::Operation const& op) const;
  void hold_sms(CellState& cell, std::int64_t more);
  void end_operation(std::uint32_t stream);
  void mark(CellState& cell);
  [[nodiscard]] std::span<timeline::Span const> spans_of(CellState const& cell) const {
    return std::span{spans_}.subspan(cell.first_span, cell.role->operations.size());
  }
  [[nodiscard]] timeline::Span& span_of(CellState const& cell, OpId op) { return spans_[cell.first_span + op.index()]; }
  [[nodiscard]] timeline::Span const& span_of(CellState const& cell, OpId op) const {
    return spans_[cell.first_span + op.index()];
  }

  // step_transfers.cpp: communication.
  void arrive(std::uint32_t stream, OpId op, program::Communication const& communication);
  void start_if_complete(std::uint32_t transfer);
  void begin_phase(std::uint32_t transfer);
  void begin_phase_flows(std::uint32_t transfer);
  void end_phase_flow(std::uint32_t transfer);
  void add_loads_of(Transfer const& transfer, std::span<collectives::Load const> loads);
  void end_phase(std::uint32_t transfer);
  void begin_replay(std::uint32_t transfer);
  void end_replay_if_done(std::uint32_t transfer);
  void end_transfer(std::uint32_t transfer);
  [[nodiscard]] std::uint32_t stream_of(program::Participant const& participant) const;
  [[nodiscard]] std::span<std::uint32_t const> transfers_of(program::Participant const& participant) const;
  [[nodiscard]] std::int64_t sms_of(std::span<std::uint32_t const> transfers) const;

  // step_report.cpp: what is told afterwards.
  [[nodiscard]] std::string describe_wait(CellState const& cell, StreamState const& stream) const;
  [[nodiscard]] std::string describe_missing(Transfer const& transfer) const;
  void write_facts(timeline::Timeline& out) const;
  [[nodiscard]] std::vector<timeline::LinkTraffic> link_traffic(std::vector<double> const& carried) const;
  [[nodiscard]] std::vector<double> carried() const;

  // folded_step_report.cpp: the same where micro-batches are left out.
  void count_at_beginning(OpId op);
  [[nodiscard]] std::vector<CellRun> cell_runs() const;
  void write_sums(Repetition const& repetition, timeline::Timeline& out) const;
  void write_spans(Repetition const& repetition, timeline::Timeline& out);

  /// What had been counted when a micro-batch of a folded program began.
  struct Counts {
    std::int64_t events = 0;
    std::vector<double> carried;  // by resource
  };

  program::StepProgram const& program_;
  Machine const& machine_;
  RunOptions options_;
  program::Projection cells_;
  FlowClock clock_;
  ResourceMap resources_;
  HostPaths host_paths_;
  Transfers transfers_;
  std::vector<RoleLists> lists_;                         // by role
  std::vector<CellState> states_;                        // by cell
  std::vector<StreamState> streams_;                     // of all cells
  std::vector<MemoryLedger> ledgers_;                    // by cell
  std::vector<timeline::Span> spans_;                    // by cell, then by operation; end is kNever until it has ended
  std::vector<std::uint32_t> dirty_;                     // cells
  std::vector<std::unique_ptr<MessageReplay>> replays_;  // by transfer; exact only, while it runs
  std::vector<Use> uses_;                                // scratch
  std::vector<OpId> beginnings_;                         // of the micro-batches of the first cell; folded only
  std::vector<Counts> counts_;                           // when these began
  std::size_t unfinished_ = 0;
};

}  // namespace twinstep::engine
