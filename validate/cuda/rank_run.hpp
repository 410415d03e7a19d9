#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.hpp"
#include "sim/program/step_program.hpp"
#include "validate/cuda/connection.hpp"
#include "validate/cuda/device_api.hpp"
#include "validate/cuda/environment.hpp"

namespace twinstep::cuda {

/// Where the buffers that live inside a step lie: offsets into one piece of device memory and one of pinned host
/// memory. Persistent buffers are not in it.
struct MemoryPlan {
  std::vector<Bytes> offsets;  ///< by buffer
  Bytes device;                ///< size of the piece
  Bytes host;
};

/// Lays out the buffers of one rank so that a buffer takes the place of earlier ones only where its first operation
/// comes after every operation that touches them, by stream order, waits and host operations: then no allocator has to
/// wait for the device, and none disturbs a measurement. First fit, by address; offsets are multiples of 256 bytes.
/// Buffers of inputs are filled before the step, so nothing shares their place.
///
/// Requires a well-formed program. Cost: operations × streams, plus buffers × free pieces.
[[nodiscard]] MemoryPlan plan_memory(program::StepProgram const& program, program::Role const& role, RankId rank);

/// When an operation happened, from time zero of its rank.
struct OperationTimes {
  Time issue;   ///< the host began to enqueue it
  Time issued;  ///< … and had enqueued it; for a host operation, it had ended
  Time begin;
  Time end;
};

/// What the ranks of a process share during a step.
struct Step {
  DeviceApi& device;
  program::StepProgram const& program;
  Connection& connection;
  Seconds patience;
  std::atomic<bool> is_stopped = false;  ///< because of another rank
};

/// Thrown where a rank stops because of another one.
struct Stopped {};

/// One rank on its device: streams, events, memory and communicators for one program, and what a step of it took.
class RankRun {
 public:
  /// Meets the other ranks to make communicators. Requires a supported program without mismatches.
  RankRun(Step& step, int local);

  /// Finds the persistent buffers and fills the inputs.
  void load(Environment& environment);
  /// Enqueues all operations and waits for their end.
  /// @throws program::StuckProgram if nothing happens for as long as the step's patience
  void run(std::int64_t step_number);
  /// By operation; of the last step.
  [[nodiscard]] std::span<OperationTimes const> times() const { return times_; }
  [[nodiscard]] RankId rank() const { return rank_; }

 private:
  /// Where all that a program does on a communicator is single sends and receives, each direction has one of its own:
  /// on one, NCCL would run what two streams do one after another, and ranks that send to each other would never
  /// receive.
  struct Communicators {
    DeviceCommunicator* collectives = nullptr;
    DeviceCommunicator* upward = nullptr;  ///< to peers with a higher place
    DeviceCommunicator* downward = nullptr;
    int size = 1;
    int place = 0;
    OpId last;  ///< of the operations with a collective on it
  };

  void make_communicators();
  void make_streams();
  void start_clock();
  void issue(OpId id);
  void wait_for_others(OpId id);
  void run_on_host(OpId id);
  void enqueue(OpId id, DeviceStream& stream);
  [[nodiscard]] Operand operand(program::Access const& access) const;
  void add_bias(program::Gemm const& gemm, std::span<program::Access const> operands, DeviceStream& stream);
  void enqueue(program::Elementwise const& kernel, OpId id, DeviceStream& stream);
  void enqueue(program::Communication const& communication, OpId id, DeviceStream& stream);
  void enqueue(program::Collective const& collective, std::span<program::Access const> operands, DeviceStream& stream);
  void enqueue(program::PointToPoint const& message, program::Access const& operand, DeviceStream& stream);
  void wait_for_the_end();
  void wait_for(DeviceEvent const& event);
  [[nodiscard]] std::size_t count_ended() const;
  [[nodiscard]] std::string who_waits() const;

  [[nodiscard]] program::Operation const& operation(OpId op) const { return role_.operations[op.index()]; }
  [[nodiscard]] std::int64_t evaluate(program::RankValue value) const { return step_.program.evaluate(value, rank_); }
  [[nodiscard]] void* at(program::Region const& region) const;
  [[nodiscard]] std::vector<std::int64_t> elements_by_place(program::Collective const& collective) const;
  [[nodiscard]] Time now() const { return step_.device.now(device_) - zero_on_host_; }

  Step& step_;
  int local_;
  int device_;
  RankId rank_;
  program::Role const& role_;
  std::int64_t step_number_ = 1;

  // Memory outlives the streams, which may still use it.
  std::unique_ptr<DeviceMemory> barrier_;
  std::unique_ptr<DeviceMemory> device_memory_;
  std::unique_ptr<DeviceMemory> host_memory_;
  MemoryPlan plan_;
  std::vector<std::byte*> buffers_;  // by buffer

  std::vector<Communicators> communicators_;            // of the program, by id
  std::vector<std::unique_ptr<DeviceStream>> streams_;  // by stream
  std::unique_ptr<DeviceStream> control_;
  std::unique_ptr<DeviceEvent> zero_;
  std::vector<std::unique_ptr<DeviceEvent>> begins_;  // by op; null for host operations
  std::vector<std::unique_ptr<DeviceEvent>> ends_;

  Time zero_on_host_;
  Time host_is_free_;
  std::size_t issued_ = 0;  // operations
  std::vector<OperationTimes> times_;
};

}  // namespace twinstep::cuda
