#pragma once

#include <cstdint>
#include <string>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"

namespace twinstep::measure {

/// The processes that measure together, and what they run on.
struct Job {
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 1;
  bool is_first_process = true;  ///< the one that gets results and speaks
  std::string backend;           ///< "gloo", "nccl"
  std::string library;           ///< "Gloo 0.5.0 over TCP", "NCCL 2.28.9"
  std::string device;            ///< of a rank, as the machine names it: "NVIDIA H200"
};

/// Runs programs on a real clock. Every process of the job calls `run` with the same programs in the same order.
class Executor {
 public:
  Executor() = default;
  Executor(Executor const&) = delete;
  Executor& operator=(Executor const&) = delete;
  virtual ~Executor() = default;

  [[nodiscard]] virtual Job const& job() const = 0;

  /// Runs one step of a program whose mesh has the job's ranks. The first process gets the timeline of all ranks, on
  /// one clock; the others one without spans. Persistent buffers keep their values until the next program.
  /// Throws InputError for what this backend cannot run, and for a peer that died or did not come, which it names.
  [[nodiscard]] virtual timeline::Timeline run(program::StepProgram const& program) = 0;
};

}  // namespace twinstep::measure
