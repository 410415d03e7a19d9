#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// Runs programs on a real clock. Every process of the job calls the same functions in the same order.
class Executor {
 public:
  Executor() = default;
  Executor(Executor const&) = delete;
  Executor& operator=(Executor const&) = delete;
  virtual ~Executor() = default;

  [[nodiscard]] virtual Job const& job() const = 0;

  /// Throws InputError, one line, for what this backend cannot run on any day: attention on a CPU, a copy to a device
  /// that there is not.
  virtual void require_supported(program::StepProgram const& program) const = 0;

  /// Runs one step of a program over the job's ranks. The first process gets the timeline of all ranks, on
  /// one clock; the others one without spans. Persistent buffers keep their values until the next program; those and
  /// buffers of inputs begin with `initial_value`.
  /// Throws InputError for what this backend cannot run, and for a peer that died or did not come, which it names.
  [[nodiscard]] virtual timeline::Timeline run(program::StepProgram const& program) = 0;

  /// The ranks that this process is.
  [[nodiscard]] virtual std::vector<RankId> local_ranks() const = 0;
  /// `count` numbers of a persistent buffer of one of them, from number `first` on.
  [[nodiscard]] virtual std::vector<double> read(RankId rank, std::string_view name, std::string_view scope,
                                                 std::size_t first, std::size_t count) const = 0;

  /// The sum of what the processes contribute, in every process: how they agree on what to run next.
  [[nodiscard]] virtual std::int64_t sum(std::int64_t contribution) = 0;

  /// What makes measurements of this process doubtful so far, a sentence each: a GPU that was held back.
  [[nodiscard]] virtual std::vector<std::string> doubts() const { return {}; }
};

/// What element `i` of a fresh buffer holds on `rank`: a multiple of 1/256, small enough that sums over a million ranks
/// are exact in fp32 in any order. All but inputs and parameters begins with zeros.
[[nodiscard]] constexpr double initial_value(RankId rank, std::size_t i) {
  constexpr std::size_t kPeriod = 13;
  constexpr std::size_t kStride = 5;
  return (static_cast<double>((rank.index() * kStride + i) % kPeriod) - 6) / 256;
}

}  // namespace twinstep::measure
