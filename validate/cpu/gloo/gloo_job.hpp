#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "sim/program/step_program.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/cpu/environment.hpp"
#include "validate/launch/launch.hpp"

namespace twinstep::cpu {

/// How long processes wait for each other, and over which network.
struct GlooOptions {
  std::chrono::milliseconds to_come{30'000};    ///< for all to be there
  std::chrono::milliseconds in_a_step{60'000};  ///< for any one communication
  /// The network interface, as "eth0". Empty: GLOO_SOCKET_IFNAME, as PyTorch has it; else the one that reaches the
  /// meeting place; else loopback.
  std::string interface;
};

/// What the job runs on.
struct GlooFacts {
  int ranks = 1;
  int ranks_per_node = 1;  ///< most ranks that share a host and a network namespace
  int rank = 0;            ///< this process
  std::string library;     ///< "Gloo 0.5.0 over TCP"
  std::string processor;   ///< as the machine names it
};

/// One of the processes of a job, one rank each, which move data with Gloo over TCP.
///
/// A killed, absent or silent process is an InputError that names it, in every other process, within the time of
/// `GlooOptions`. After an error the job is over; make another.
class GlooJob {
 public:
  /// Waits for all processes of `launch`. Throws InputError naming those that do not come.
  explicit GlooJob(launch::Launch const& launch, GlooOptions const& options = {});
  GlooJob(GlooJob const&) = delete;
  GlooJob& operator=(GlooJob const&) = delete;
  ~GlooJob();

  [[nodiscard]] GlooFacts const& facts() const;

  /// Runs one training step on real numbers and in real time. Every process of the job calls it with the same program;
  /// streams are threads. All begin at one moment, from which the timeline counts.
  ///
  /// Process 0 gets the timeline of all ranks, on its clock: others' clocks are taken as equal where they are one (the
  /// same boot of the same host), else as a ping-pong with the smallest round trip shows them. The other processes get
  /// one without tracks and spans. Persistent buffers of this process's rank stay in `environment`.
  /// Results are those of `cpu::run` but for the order of sums; all ranks hold the same bits.
  /// @throws InputError if the program has another number of ranks, the program is not supported (see
  ///   `require_supported`), its communications do not fit together (see `find_mismatches`), which is found before
  ///   anything runs, or another process failed
  [[nodiscard]] timeline::Timeline run(program::StepProgram const& program, Environment& environment);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// How far another clock is ahead of this one, by asking it several times: the answer with the smallest round trip is
/// taken to have been given halfway. The error is at most half that round trip.
/// Source: Cristian, Probabilistic clock synchronization, Distributed Computing 3, 1989.
/// @param ask  returns what the other clock shows between the call and the return
[[nodiscard]] std::chrono::nanoseconds clock_offset(std::function<std::chrono::nanoseconds()> const& now,
                                                    std::function<std::chrono::nanoseconds()> const& ask);

/// How often it asks.
inline constexpr int kClockQuestions = 16;

}  // namespace twinstep::cpu
