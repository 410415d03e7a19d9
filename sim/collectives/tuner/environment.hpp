#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/collective_kind.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/tuning.hpp"

namespace twinstep::collectives::tuner {

/// The collectives that NCCL tunes; the others are grouped sends and receives.
inline constexpr std::size_t kTunedKinds = 5;
[[nodiscard]] constexpr bool is_tuned(CollectiveKind kind) {
  return static_cast<std::size_t>(kind) < kTunedKinds;
}

/// What the user's NCCL_* variables say. A variable that is absent, "" or "unset" leaves its default.
struct Environment {
  /// Which algorithms and protocols may run each collective.
  struct Mask {
    std::array<bool, hardware::kTunedAlgorithms> algorithms{true, true, true, true, true, true, true};
    std::array<bool, hardware::kProtocols> protocols{true, true, true};
    bool algorithms_are_set = false;
    bool protocols_are_set = false;  ///< LL128 then runs wherever it is allowed, NVLink or not
    bool operator==(Mask const&) const = default;
  };
  std::array<Mask, kTunedKinds> masks;  ///< by CollectiveKind

  std::optional<bool> nvls;                   ///< NCCL_NVLS_ENABLE; 2 is the default, to find out
  std::optional<bool> pat;                    ///< NCCL_PAT_ENABLE; likewise
  std::optional<bool> collnet;                ///< NCCL_COLLNET_ENABLE
  std::optional<bool> mnnvl;                  ///< NCCL_MNNVL_ENABLE: racks as one NVLink domain
  std::optional<std::int64_t> min_channels;   ///< the larger of NCCL_MIN_NCHANNELS and NCCL_MIN_CTAS
  std::optional<std::int64_t> max_channels;   ///< the smaller of NCCL_MAX_NCHANNELS and NCCL_MAX_CTAS
  bool p2p_is_off = false;                    ///< NCCL_P2P_DISABLE, or NCCL_P2P_LEVEL=LOC
  std::optional<std::int64_t> ll128_threads;  ///< NCCL_LL128_NTHREADS
  std::optional<Bytes> nvls_chunk;            ///< NCCL_NVLS_CHUNKSIZE
  std::optional<Bytes> nvls_tree_chunk;       ///< NCCL_NVLSTREE_MAX_CHUNKSIZE
  std::optional<Bytes> tree_threshold;        ///< NCCL_TREE_THRESHOLD, before 2.5: no tree above it
  std::vector<std::string> ignored;           ///< variables that change nothing here, in order

  [[nodiscard]] Mask const& mask(CollectiveKind kind) const { return masks[static_cast<std::size_t>(kind)]; }
  bool operator==(Environment const&) const = default;
};

/// Reads a cluster's library.environment. NCCL_ALGO and NCCL_PROTO are lists ("ring,tree"), lists of what not to use
/// ("^ll128"), and both of them for one collective each ("allreduce:tree;allgather:ring"), in upper or lower case.
/// Throws InputError for a value that means nothing.
[[nodiscard]] Environment read_environment(std::map<std::string, std::string> const& variables);

}  // namespace twinstep::collectives::tuner
