#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/sourced.hpp"
#include "sim/hardware/tuning.hpp"

namespace twinstep::hardware {

/// What a protocol costs against what its wire format promises.
struct ProtocolCost {
  Sourced<double> latency_factor;   ///< on the latencies of Tuning
  Sourced<double> wire_efficiency;  ///< bytes of data in a byte on the wire, by format: 0.5, 0.9375, 1
  Sourced<double> copy_efficiency;  ///< of the rest, what the copying threads reach
  bool operator==(ProtocolCost const&) const = default;
};

/// Host time that a benchmark adds to a collective, by how its processes are started. A training step has its own host
/// clock and does not use it.
struct LauncherCost {
  Sourced<Duration> fixed;
  Sourced<Duration> per_gpu;   ///< for each GPU that one process drives
  Sourced<Duration> per_peer;  ///< of all_to_all: each peer is a send and a receive
  bool operator==(LauncherCost const&) const = default;
};

enum class Launcher : std::uint8_t {
  kProcessPerGpu,  ///< mpirun, torchrun, srun
  kOneProcess,     ///< one process drives all GPUs of a node (nccl-tests -g 8)
  kPython          ///< a Python loop that times every call
};

/// Ranges of message sizes in which different terms of the cost decide.
enum class SizeRange : std::uint8_t { kSmall, kMedium, kLarge, kHuge };

/// Up to 64 KiB latency decides, from 1 MiB on bandwidth begins to, from 256 MiB on nothing else does.
[[nodiscard]] constexpr SizeRange range_of(Bytes size) {
  using namespace literals;
  if (size <= 64_KiB) return SizeRange::kSmall;
  if (size < 1_MiB) return SizeRange::kMedium;
  return size < 256_MiB ? SizeRange::kLarge : SizeRange::kHuge;
}

/// Where measured times lie that the constants have not seen: four of five between `low` and `high` times the
/// prediction.
struct ErrorBand {
  Sourced<double> low;
  Sourced<double> high;
  bool operator==(ErrorBand const&) const = default;
};

/// Who decides among the algorithms.
enum class Choice : std::uint8_t {
  kTuner,   ///< NCCL's own cost model, as its version has it
  kFastest  ///< the smallest of our costs: for libraries, or versions, whose rules are not known
};

/// A collective library: how it chooses, and the constants of what its collectives cost (hw_profiles/libraries).
struct Library {
  std::string name;
  std::string description;
  std::string version;                             ///< "2.27.7"; decides which `tuning` was read
  std::map<std::string, std::string> environment;  ///< NCCL_ALGO and its like, as the user set them
  Choice choice = Choice::kFastest;
  Tuning tuning;

  Sourced<Duration> kernel_start;                  ///< seen by every collective
  std::array<ProtocolCost, kProtocols> protocols;  ///< by Protocol
  Sourced<double> tree_efficiency;                 ///< of what a ring reaches inside a node
  Sourced<double> multicast_tree_efficiency;       ///< NVLSTree, of what NVLS reaches
  Sourced<Bytes> multicast_chunk_overhead;         ///< c0: a chunk of c bytes runs at c / (c + c0)
  Sourced<BytesPerSecond> ll_limit_per_channel;    ///< bus bandwidth of LL between nodes; 0 for no limit
  Sourced<double> memory_bytes_per_wire_byte;      ///< HBM traffic caused by one byte on the wire
  Sourced<Bytes> buffers;                          ///< device memory of one communicator
  std::vector<std::string> fitted_on;              ///< systems whose measured sweeps the constants have seen
  std::array<ErrorBand, 4> errors;                 ///< by SizeRange
  std::array<LauncherCost, 3> launchers;           ///< by Launcher
  bool operator==(Library const&) const = default;

  [[nodiscard]] ProtocolCost const& protocol(Protocol each) const { return protocols[static_cast<std::size_t>(each)]; }
  [[nodiscard]] LauncherCost const& launcher(Launcher each) const { return launchers[static_cast<std::size_t>(each)]; }
};

}  // namespace twinstep::hardware

namespace twinstep {
template <>
struct EnumNames<hardware::Launcher> {
  static constexpr std::array<std::string_view, 3> values{"process-per-gpu", "one-process", "python"};
};
template <>
struct EnumNames<hardware::SizeRange> {
  static constexpr std::array<std::string_view, 4> values{"up_to_64_kib", "up_to_1_mib", "up_to_256_mib", "larger"};
};
template <>
struct EnumNames<hardware::Choice> {
  static constexpr std::array<std::string_view, 2> values{"tuner", "fastest"};
};
}  // namespace twinstep
