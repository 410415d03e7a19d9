#pragma once

#include <span>
#include <vector>

#include "sim/engine/machine.hpp"
#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::engine {

/// The memory of one track over time, by the host-time rule of PyTorch's caching allocator: a buffer is allocated when
/// the host issues the first operation that touches it, and given back when the host has issued the last one; if
/// several streams touched it, when that last operation has ended (its block waits for an event).
class MemoryLedger {
 public:
  /// Enters what lives all the time: persistent buffers, the GPU context, the collective library's buffers.
  MemoryLedger(program::StepProgram const& program, program::Role const& role, RankId rank, timeline::TrackId track,
               Machine const& machine);

  void on_issue(OpId op, std::span<program::Access const> accesses, Time now);
  void on_end(OpId op, std::span<program::Access const> accesses, Time now);

  /// Appends the samples, in the order of time.
  void append_to(std::vector<timeline::MemorySample>& samples) const;

 private:
  void enter(std::vector<timeline::MemorySample>& samples, program::Buffer const& buffer, Time now, bool is_taken);
  [[nodiscard]] Bytes size(program::Buffer const& buffer) const;

  program::StepProgram const* program_;
  program::Role const* role_;
  RankId rank_;
  timeline::TrackId track_;
  std::vector<timeline::MemorySample> by_host_;    // in the order of issue
  std::vector<timeline::MemorySample> by_device_;  // in the order of completion
};

}  // namespace twinstep::engine
