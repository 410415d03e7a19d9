#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/collective_kind.hpp"
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

/// Where measured times lie that no fit has seen: nine of ten between `low` and `high` times the prediction.
struct ErrorBand {
  Sourced<double> low;
  Sourced<double> high;
  bool operator==(ErrorBand const&) const = default;
};

using ErrorBands = std::array<ErrorBand, 4>;  ///< by SizeRange

/// How measured times of one algorithm and protocol lie apart from their cost, by size: times this factor. Between
/// sizes it is a line over the logarithm of the size; beyond the first and the last it stays.
struct SizeCorrection {
  Algorithm algorithm{};
  Protocol protocol = Protocol::kSimple;
  std::vector<Bytes> sizes;     ///< rising
  std::vector<double> factors;  ///< one for each size
  bool operator==(SizeCorrection const&) const = default;
};

/// What measured sweeps of one collective on one layout say beyond the constants.
struct CollectiveCalibration {
  CollectiveKind collective{};
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;  ///< that the ranks sit on
  Bytes smallest;          ///< of the sizes measured
  Bytes largest;
  std::vector<SizeCorrection> corrections;
  ErrorBands errors;   ///< of sizes that took no part in the fit
  std::string source;  ///< what was measured, and when
  bool operator==(CollectiveCalibration const&) const = default;
};

/// Who decides among the algorithms.
enum class Choice : std::uint8_t {
  kTuner,    ///< NCCL's own cost model, as its version has it
  kFastest,  ///< the smallest of our costs: for libraries, or versions, whose rules are not known
  kFixed     ///< nobody: each collective has the one algorithm that the library's source has for it (Gloo)
};

/// The one way in which a library without a choice does a collective.
struct FixedAlgorithm {
  Algorithm algorithm{};
  /// That a rank's processor handles one after another in a step, each at the transport's step latency; with pairwise
  /// messages, for each peer.
  Sourced<std::int64_t> messages_per_step;
  /// Where ranks announce what they can receive behind what they send, the two directions of a connection take turns:
  /// what each carries beyond so many bytes waits for the other. Nothing for both at once.
  std::optional<Sourced<Bytes>> half_duplex_beyond;
  bool operator==(FixedAlgorithm const&) const = default;
};

/// A collective library: how it chooses, and the constants of what its collectives cost (hw_profiles/libraries).
struct Library {
  std::string name;
  std::string description;
  std::string version;                             ///< "2.27.7"; decides which `tuning` was read
  std::map<std::string, std::string> environment;  ///< NCCL_ALGO and its like, as the user set them
  Choice choice = Choice::kFastest;
  std::map<CollectiveKind, FixedAlgorithm> algorithms;  ///< only where the choice is fixed
  Tuning tuning;

  Sourced<Duration> kernel_start;                               ///< seen by every collective
  std::array<ProtocolCost, kProtocols> protocols;               ///< by Protocol
  Sourced<double> tree_efficiency;                              ///< of what a ring reaches inside a node
  Sourced<double> multicast_tree_efficiency;                    ///< NVLSTree, of what NVLS reaches
  Sourced<Bytes> multicast_chunk_overhead;                      ///< c0: a chunk of c bytes runs at c / (c + c0)
  std::optional<Sourced<BytesPerSecond>> ll_limit_per_channel;  ///< bus bandwidth of LL between nodes
  Sourced<double> memory_bytes_per_wire_byte;                   ///< HBM traffic caused by one byte on the wire
  Sourced<Bytes> buffers;                                       ///< device memory of one communicator
  std::vector<std::string> fitted_on;  ///< systems whose measured sweeps the constants have seen
  ErrorBands errors;
  std::array<LauncherCost, 3> launchers;            ///< by Launcher
  std::vector<CollectiveCalibration> calibrations;  ///< measured on this cluster; one for each collective and layout
  bool operator==(Library const&) const = default;

  /// The one way in which `collective` is done; nullptr where something chooses.
  [[nodiscard]] FixedAlgorithm const* fixed(CollectiveKind collective) const {
    auto const found = choice == Choice::kFixed ? algorithms.find(collective) : algorithms.end();
    return found == algorithms.end() ? nullptr : &found->second;
  }
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
  static constexpr std::array<std::string_view, 3> values{"tuner", "fastest", "fixed"};
};
}  // namespace twinstep
