#pragma once

#include <cstdint>
#include <memory>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cuda/connection.hpp"
#include "validate/cuda/device_api.hpp"
#include "validate/cuda/environment.hpp"

namespace twinstep::cuda {

struct ExecutorOptions {
  Seconds patience{60};  ///< how long nothing may happen on a rank before the step is given up
};

/// Runs step programs on GPUs: one host thread a rank enqueues the operations in list order, streams are CUDA streams,
/// waits are events, host operations wait for the events of what they name.
///
/// A span begins and ends with an event on its operation's stream. All ranks begin with a barrier; the event behind it
/// is time zero on each device, and the moment at which its host has seen it is zero for the host, so ranks are aligned
/// as well as a barrier lets them go (a few microseconds). `start` is `arrive`, because a rank cannot see when its
/// peers are ready. Buffers lie where a plan made before the step puts them (see MemoryPlan), and the timeline's memory
/// is the program's ledger: from the issue of a buffer's first use to the return of the issue of its last.
///
/// The same objects live on for the next step: streams, events, memory, communicators. Only a step of another program
/// makes new ones.
class Executor {
 public:
  /// Keeps references to all three, and must not outlive them.
  Executor(DeviceApi& device, Connection& connection, ExecutorOptions options = {});
  Executor(Executor const&) = delete;
  Executor& operator=(Executor const&) = delete;
  ~Executor();

  /// Runs one step of a well-formed program; every process of the job calls it with the same one. The process with rank
  /// 0 gets the timeline of all ranks; the others one without spans.
  /// @throws InputError if the program is not supported (see require_supported) or ranks disagree on a communication
  /// @throws program::StuckProgram if ranks would wait for each other for ever, or nothing happens for `patience`; then
  ///   the communicators are aborted, and the executor refuses further steps
  /// @throws DeviceError if a call fails
  [[nodiscard]] timeline::Timeline run(program::StepProgram const& program, Environment& environment);

  /// The sum of what the processes contribute, in every process. Exact below 2^53.
  [[nodiscard]] std::int64_t sum(std::int64_t contribution);

  /// Overwrites as much memory as the L2 cache of each local device has, and waits for it.
  void flush_caches();

 private:
  class Prepared;
  template <class Body>
  void on_every_rank(Body const& body);

  DeviceApi& device_;
  Connection& connection_;
  ExecutorOptions options_;
  std::unique_ptr<Prepared> prepared_;  // for the last program
  bool is_broken_ = false;
};

}  // namespace twinstep::cuda
