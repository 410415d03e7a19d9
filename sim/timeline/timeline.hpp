#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/total_bytes.hpp"
#include "sim/base/units.hpp"
#include "sim/program/kinds.hpp"
#include "sim/program/scope.hpp"

/// What an executor hands back: who was busy with what, when, and what it held in memory. Reports and comparisons
/// read timelines without knowing whether a virtual or a real clock made them.
namespace twinstep::timeline {

enum class Clock : std::uint8_t { kVirtual, kReal };

/// Where a timeline comes from, and the facts that its rates need.
struct Manifest {
  std::string version;  ///< of the program that made it
  Clock clock = Clock::kVirtual;
  std::string scenario;      ///< one line for people: model, strategy, cluster
  std::string calibration;   ///< "uncalibrated: datasheet and default constants", or what was fitted on what
  std::string program_hash;  ///< of the step program, hexadecimal
  std::string machine_hash;  ///< of the machine that it ran on, hexadecimal
  std::int64_t world_size = 1;
  std::int64_t tokens = 0;  ///< of the global batch
  Flops model_flops;        ///< of all ranks, without recomputation
  Flops hardware_flops;     ///< of all ranks, as executed
  FlopsPerSecond peak;      ///< of one rank's processor, dense, in the step's compute type; 0 if unknown
  Bytes memory_capacity;    ///< of one rank's device; 0 if unknown
  bool operator==(Manifest const&) const = default;
};

using TrackId = Id<struct TrackTag>;

/// What the caching allocator of a rank did, in a step like those before it.
struct AllocatorUse {
  std::int64_t segments = 0;  ///< that it holds when the step is over
  std::int64_t retries = 0;   ///< requests for which it first gave everything that was free back to the device
  bool operator==(AllocatorUse const&) const = default;
};

/// One row of streams: a rank, and how many ranks behave exactly like it.
struct Track {
  std::string role;
  RankId rank;                       ///< the rank shown
  std::int64_t multiplicity = 1;     ///< ranks that it stands for, itself included
  std::vector<std::string> streams;  ///< names, by StreamId
  /// Absent where no caching allocator was replayed; then no sample is of fragmentation.
  std::optional<AllocatorUse> allocator = std::nullopt;
  bool operator==(Track const&) const = default;
};

/// One operation of one track. issue <= arrive <= start <= end.
struct Span {
  TrackId track;
  StreamId stream;  ///< none for the host
  OpId op;          ///< in the role's program
  NameId name;
  program::ScopeId scope;
  program::WorkKind kind{};
  Bytes bytes;  ///< payload of communications and copies, else 0
  Time issue;   ///< the host issued it
  Time arrive;  ///< this rank was ready to run it
  Time start;   ///< it ran: every rank that it needs had arrived. A real clock cannot see this and says `arrive`
  Time end;
  bool operator==(Span const&) const = default;
};

/// Memory that a track took (positive) or gave back (negative) at a moment.
struct MemorySample {
  TrackId track;
  Time time;
  program::MemoryCategory category{};
  program::MemorySpace space{};
  Bytes change;
  bool operator==(MemorySample const&) const = default;
};

/// What the busiest link of one kind carried, one way.
struct LinkTraffic {
  std::string name;  ///< "nvlink", "nic", …
  bool is_inter_node = false;
  Bytes bytes;               ///< as a load: protocol overhead included, so that bytes / bandwidth is busy time
  std::int64_t links = 1;    ///< links of this kind in the cluster
  BytesPerSecond bandwidth;  ///< of one of them
  bool operator==(LinkTraffic const&) const = default;
};

/// Bytes that left a rank, summed over ranks: inside nodes, and between them.
struct WireBytes {
  Bytes intra;
  Bytes inter;
  bool operator==(WireBytes const&) const = default;
};

/// The same of a whole step.
struct WireTotals {
  TotalBytes intra;
  TotalBytes inter;
  bool operator==(WireTotals const&) const = default;
};

/// What left the ranks of a track, all of them together, at an even rate from `begin` to `end`.
struct Traffic {
  TrackId track;
  Time begin;
  Time end;
  WireBytes bytes;
  bool operator==(Traffic const&) const = default;
};

/// What is left out of a timeline: micro-batches that are like one that is there.
struct Repeat {
  std::int32_t micro_batch = 0;
  std::int64_t times = 0;  ///< further ones follow it …
  Duration period;         ///< … each so much later than the one before
  /// From here on, for a period, ranks are busy as they are in each period that is left out.
  Time steady_from;
  bool operator==(Repeat const&) const = default;

  [[nodiscard]] Duration length() const { return period * times; }
};

/// The record of one step. Spans are ordered by track, then by op; memory samples and traffic by track, then by time.
struct Timeline {
  Manifest manifest;
  std::vector<std::string> names;      ///< texts of the spans, by NameId
  std::vector<program::Scope> scopes;  ///< of the spans, by ScopeId
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<MemorySample> memory;
  std::vector<LinkTraffic> links;
  std::vector<Traffic>
      traffic;  ///< its sum is `wire` where nothing is left out; of a real clock nothing, which only counts
  WireTotals wire;
  Duration step_time;       ///< the last end
  std::int64_t events = 0;  ///< that the executor handled
  /// Then spans, samples and traffic of some micro-batches are left out; all times and all sums are the whole step's.
  std::optional<Repeat> repeat = std::nullopt;
  bool operator==(Timeline const&) const = default;

  [[nodiscard]] std::string_view text(NameId name) const {
    return name.exists() ? std::string_view{names[name.index()]} : std::string_view{};
  }
  [[nodiscard]] std::string text(program::ScopeId scope) const {
    return scope.exists() ? program::scope_text(scopes[scope.index()], names) : std::string{};
  }
  [[nodiscard]] std::int32_t micro_batch_of(Span const& span) const {
    return span.scope.exists() ? scopes[span.scope.index()].micro_batch : program::Scope::kNoMicroBatch;
  }
  [[nodiscard]] program::Pass pass_of(Span const& span) const {
    return span.scope.exists() ? scopes[span.scope.index()].pass : program::Pass::kNone;
  }
};

}  // namespace twinstep::timeline

template <>
struct twinstep::EnumNames<twinstep::timeline::Clock> {
  static constexpr std::array<std::string_view, 2> values{"virtual", "real"};
};
