#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/io/document.hpp"
#include "sim/program/kinds.hpp"

/// What the PyTorch profiler writes (Kineto's Chrome trace: pytorch/kineto, libkineto/src/output_json.cpp), as far as a
/// timeline needs it. Moments are nanoseconds of the host's clock: "baseTimeNanoseconds" + "ts".
namespace twinstep::records {

using Nanoseconds = std::int64_t;

/// Where a row of the trace stands: a device and a stream of it, or a process and a thread of it.
struct KinetoRow {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  auto operator<=>(KinetoRow const&) const = default;
};

/// A kernel, copy or fill of a GPU, or an operator of the host.
struct KinetoEvent {
  KinetoRow row;
  std::string name;
  program::WorkKind kind{};
  Bytes bytes;  ///< payload of communications and copies
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::optional<std::int64_t> correlation;  ///< with the host's call that launched it
};

struct KinetoStep {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

/// The trace of one process.
struct KinetoTrace {
  std::string file;
  std::optional<std::int64_t> rank, world_size;  ///< by "distributedInfo"
  Bytes device_memory;                           ///< of the first device; 0 if unknown
  std::vector<KinetoEvent> device;               ///< in the order of their start
  std::vector<KinetoEvent> host;                 ///< outermost operators of each thread, in the order of their start
  std::unordered_map<std::int64_t, Nanoseconds> launches;  ///< start of the host's call, by correlation
  std::map<std::int64_t, KinetoStep> steps;                ///< ProfilerStep#N, by N

  /// When the host launched an event of the device: its own start where the trace does not say.
  [[nodiscard]] Nanoseconds launch_of(KinetoEvent const& event) const;
};

/// Throws InputError for a document that is no such trace, and where an event is not as it should be.
[[nodiscard]] KinetoTrace read_kineto_trace(io::Node const& document);

/// What a kernel does, by its name and what the profiler says of a collective.
[[nodiscard]] program::WorkKind kernel_kind(std::string_view name, std::optional<std::string_view> collective);

}  // namespace twinstep::records
