#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"

/// What tracks hold in memory over time, and where they hold most.
namespace twinstep::reports {

/// Bytes held, by `program::MemoryCategory`.
using BytesByCategory = std::array<Bytes, kEnumSize<program::MemoryCategory>>;

[[nodiscard]] Bytes total(BytesByCategory const& held);
/// Without fragmentation.
[[nodiscard]] Bytes allocated(BytesByCategory const& held);

/// What counts as held. On a device both include the context and the collective library's buffers.
enum class Counting : std::uint8_t {
  kAllocated,  ///< without fragmentation: beyond context and library, torch.cuda.max_memory_allocated (active bytes)
  kReserved    ///< all of it: what nvidia-smi shows; as allocated where no caching allocator was replayed
};

/// The moment at which a track holds most in one memory space.
struct MemoryPeak {
  timeline::TrackId track;
  Time time;
  BytesByCategory held{};
  std::string at;  ///< the operation that the host was issuing: "layer.31.backward/mlp.up"; "" before the first

  [[nodiscard]] Bytes total() const { return reports::total(held); }
};

/// What a track holds from one moment until the next point.
struct MemoryPoint {
  Time time;
  BytesByCategory held{};
  bool operator==(MemoryPoint const&) const = default;
};

/// The peak of one track: the first moment at which it holds most. Samples count one by one in their order, so memory
/// that is taken before other memory is given back at the same moment is held together. Of moments at which as much is
/// reserved, the first at which most is allocated. Cost: linear.
[[nodiscard]] MemoryPeak find_peak(timeline::Timeline const& timeline, timeline::TrackId track,
                                   program::MemorySpace space, Counting counting = Counting::kAllocated);

/// The highest peak of all tracks; the first of them if several are as high. An empty peak without samples.
[[nodiscard]] MemoryPeak find_worst_peak(timeline::Timeline const& timeline, program::MemorySpace space,
                                         Counting counting = Counting::kAllocated);

/// Where a decoder's memory peaks, as a rule: the highest moments of what is allocated on a device. Absent without such
/// a moment.
struct PeakCandidates {
  std::optional<MemoryPeak> loss;      ///< while logits, log-probabilities or gradients of either are held
  std::optional<MemoryPeak> backward;  ///< without them, while the host issues a scope "….backward" or "….recompute"
};

/// Those of one track. Cost: linear.
[[nodiscard]] PeakCandidates find_peak_candidates(timeline::Timeline const& timeline, timeline::TrackId track);

/// What the track holds after each moment at which that changes; before it, where more was allocated within the moment,
/// that: two points of one time, so that the curve reaches the peak. Cost: linear.
[[nodiscard]] std::vector<MemoryPoint> memory_curve(timeline::Timeline const& timeline, timeline::TrackId track,
                                                    program::MemorySpace space);

/// "scope/name", or the name alone where there is no scope.
[[nodiscard]] std::string describe(timeline::Timeline const& timeline, timeline::Span const& span);

}  // namespace twinstep::reports
