#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "sim/engine/host_paths.hpp"
#include "sim/engine/machine.hpp"
#include "sim/program/projection.hpp"
#include "sim/program/step_program.hpp"

/// Rank 0 of a step by itself: what its operations take and its buffers hold at least.
namespace twinstep::explore::plan {

/// The rank that bounds look at. It is in the first cell of all.
inline constexpr auto kRank = RankId{0};

/// What each operation of rank 0 takes when nothing else runs. Outlived by program and machine.
class Alone {
 public:
  Alone(program::StepProgram const& program, engine::Machine const& machine, bool communication_is_free);

  [[nodiscard]] bool communication_is_free() const { return communication_is_free_; }
  /// An operation on a stream that communicates nothing.
  [[nodiscard]] Duration operation(program::Operation const& op) const;
  /// One part of a communication.
  [[nodiscard]] Duration part(program::CommunicationPart const& part);
  /// What the host takes to issue an operation on a stream.
  [[nodiscard]] Duration issue(program::Operation const& op) const;
  /// At which a rank copies to its host while the ranks that are like it do the same.
  [[nodiscard]] BytesPerSecond rate_to_host() const;

 private:
  [[nodiscard]] Duration kernel(program::Operation const& op) const;
  [[nodiscard]] Duration copy(program::Copy const& copy) const;
  [[nodiscard]] Duration host_kernel(std::int64_t bytes) const;
  [[nodiscard]] Duration on(engine::HostPaths::Hop const& hop, std::int64_t bytes) const;
  [[nodiscard]] BytesPerSecond hbm() const { return machine_.cluster().node().gpu.memory_bandwidth.value; }

  program::StepProgram const& program_;
  program::Role const& role_;
  engine::Machine const& machine_;
  bool communication_is_free_;
  program::Projection cells_;
  engine::HostPaths host_paths_;
  std::map<std::tuple<CollectiveKind, program::Reduction, DataType, Bytes, CommunicatorId>, Duration> collectives_;
};

using BySpace = std::array<Bytes, kEnumSize<program::MemorySpace>>;

/// What rank 0 holds in each memory while the host issues its operations: a buffer that several streams touch lives on.
class Held {
 public:
  explicit Held(program::StepProgram const& program);

  /// The most of each memory at one moment.
  [[nodiscard]] BySpace const& most() const { return most_; }
  /// From before an operation is issued until after that.
  [[nodiscard]] BySpace across(OpId op) const;

 private:
  struct Life {
    OpId first;
    OpId last;
    std::size_t space = 0;
    Bytes bytes;
  };
  std::vector<Life> lives_;  // of buffers that come and go
  BySpace always_{};
  BySpace most_{};
};

/// What its device holds beside: the GPU's context, and the buffers of the collective library.
[[nodiscard]] Bytes held_beside(program::StepProgram const& program, engine::Machine const& machine);

}  // namespace twinstep::explore::plan
