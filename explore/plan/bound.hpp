#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/engine/machine.hpp"
#include "sim/program/step_program.hpp"
#include "strategies/model/work.hpp"
#include "strategies/plan/plan.hpp"

/// What no simulation of a plan's step goes below: argued in docs/planning.md, held in
/// tests/property/plan_bound_test.cpp.
namespace twinstep::explore::plan {

/// What the step takes at least, and one rank holds at least at its peak.
struct Bound {
  Duration step_time;
  Bytes device;
  Bytes host;
  Bytes nvme;

  /// Both hold.
  friend Bound operator&(Bound const& a, Bound const& b) {
    return {std::max(a.step_time, b.step_time), std::max(a.device, b.device), std::max(a.host, b.host),
            std::max(a.nvme, b.nvme)};
  }
};

/// What the model's own kernels take for one micro-batch, and what they leave for backward, whatever the strategy.
struct MicroBatchWork {
  Duration device;          ///< one kernel after another
  Duration host;            ///< to launch them
  Bytes data;               ///< of the batch, on the device from before the step
  Bytes kept;               ///< on the device, when backward begins
  Bytes offloaded;          ///< to the host …
  std::int64_t copies = 0;  ///< … in so many copies
  Bytes last_offloaded;     ///< of them by the last block, whose copies come back first
};
/// Cost: tens of microseconds.
[[nodiscard]] MicroBatchWork micro_batch_work(strategies::ModelSpec const& model, strategies::Plan const& plan,
                                              engine::Machine const& machine);

/// What a strategy adds to a step, whatever the model computes: what its own operations take of each stream, of each
/// communicator and of the host, and what its buffers hold.
class StepFrame {
 public:
  /// Micro-batches that differ in what a strategy does in them: the first, the last, and those between.
  static constexpr std::int64_t kKinds = 3;

  /// For steps of `micro_batches`; from `kKinds` on all have the same. `hollow` is the model's work
  /// (strategies::hollow_work). Cost: that of compiling around it.
  StepFrame(strategies::ModelWork hollow, strategies::Plan plan, std::int64_t micro_batches,
            engine::Machine const& machine, bool communication_is_free);

  /// A step of such micro-batches.
  [[nodiscard]] Bound around(MicroBatchWork const& work, std::int64_t micro_batches) const;

 private:
  /// What takes its time one after another, in the micro-batches and the update.
  struct Load {
    Duration second;  // micro-batch
    Duration others;
    [[nodiscard]] Duration of(std::int64_t micro_batches) const;
  };
  void add_loads(program::StepProgram const& step, engine::Machine const& machine, bool communication_is_free);
  void add_memory(program::StepProgram const& step, engine::Machine const& machine);

  Load host_;
  Load compute_;             // the stream of the model's kernels
  std::vector<Load> lanes_;  // other streams, and communicators
  Bound held_;               // the most of each memory at one moment; takes no time
  Bound between_;            // the same between a forward and its backward
  Duration copy_start_;
  BytesPerSecond rate_to_host_{};
};

/// The same of a step's program, sharper: its critical path if every operation takes the time that it takes alone, and
/// what rank 0 holds in the order of issue. Cost: a tenth of a microsecond an operation.
[[nodiscard]] Bound program_bound(program::StepProgram const& program, engine::Machine const& machine,
                                  bool communication_is_free = false);

}  // namespace twinstep::explore::plan
