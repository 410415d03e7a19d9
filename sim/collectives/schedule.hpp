#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "sim/base/collective_kind.hpp"
#include "sim/collectives/splits.hpp"
#include "sim/hardware/tuning.hpp"

namespace twinstep::collectives {

using hardware::Algorithm;

/// `index` counted round a circle of `count` places, forwards or backwards.
[[nodiscard]] constexpr std::int64_t wrap(std::int64_t index, std::int64_t count) {
  return (index % count + count) % count;
}

/// The largest k with 2^k <= value, and the smallest with 2^k >= value. Require value >= 1.
[[nodiscard]] constexpr std::int64_t floor_log2(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}
[[nodiscard]] constexpr std::int64_t ceil_log2(std::int64_t value) {
  return value <= 1 ? 0 : floor_log2(value - 1) + 1;
}

/// One message of a schedule: a run of chunks from one rank's buffer into another's.
struct Message {
  std::int64_t to = 0;           ///< the rank that receives it
  std::int64_t first_chunk = 0;  ///< in the sender's buffer
  std::int64_t chunk_count = 1;
  bool is_reduced = false;  ///< the receiver adds it to what it has; otherwise it overwrites
  bool operator==(Message const&) const = default;
};

/// What every rank sends in every step of a collective, as functions: nothing is stored, so a schedule of 131,072
/// ranks is as small as one of two.
///
/// Each rank works in one buffer of the collective's large side, cut into `chunks` equal parts (chunk_begin), and a
/// message lands in the chunks that it was taken from. Of those, an equal number in a row
/// belongs to each rank: what it contributes to all_gather and gather, and keeps of reduce_scatter and scatter.
/// all_to_all is the exception: it sends chunk d of one buffer to rank d, which stores it at the sender's place of
/// another.
///
/// All messages of a step are sent at once, from what the buffers held before the step.
///
/// Where switches reduce and copy, they take part as agents with buffers of their own, which begin with nothing in
/// them: agent a is participant ranks + a and sits in the switch of rank a's node, or in the network. What is reduced
/// into nothing is a copy.
struct Schedule {
  CollectiveKind kind{};
  std::int64_t ranks = 1;
  std::int64_t root = 0;
  std::int64_t ranks_per_node = 1;  ///< neighbours that share a node
  std::int64_t agents = 0;  ///< reducing and copying units of switches: participants ranks … ranks + agents - 1
  std::int64_t chunks = 1;
  std::int64_t steps = 0;
  std::int64_t lanes = 1;   ///< messages that one rank may send in one step
  Splits splits;            ///< in elements, of an uneven all_to_all
  std::int64_t pieces = 1;  ///< that follow one another through a pipeline (pipeline.hpp)
  bool agents_sit_in_network = false;

  using Successor = std::optional<Message> (*)(Schedule const&, std::int64_t rank, std::int64_t step,
                                               std::int64_t lane);
  Successor successor = nullptr;
  Successor piece_successor = nullptr;  ///< of a pipeline: what is done with each piece

  /// How many messages `participant` receives in `step`, where an algorithm knows; the exact replay counts the messages
  /// of others.
  using Counter = std::int64_t (*)(Schedule const&, std::int64_t participant, std::int64_t step);
  Counter arrivals = nullptr;

  /// What `rank` sends in `step` on `lane`, if anything. Cost at most O(log ranks).
  [[nodiscard]] std::optional<Message> message(std::int64_t rank, std::int64_t step, std::int64_t lane) const {
    return successor(*this, rank, step, lane);
  }
};

/// Whether `algorithm` can do `kind`.
[[nodiscard]] bool is_available(CollectiveKind kind, Algorithm algorithm);

/// Throws InputError, with the algorithms that can, if `algorithm` cannot do `kind`.
void require_available(CollectiveKind kind, Algorithm algorithm);

/// Elements that a message carries where the large side of the collective has `size` of them. Of an uneven all_to_all
/// its split counts, not `size`.
[[nodiscard]] std::int64_t elements_of(Schedule const& schedule, std::int64_t from, Message const& message,
                                       std::int64_t size);

/// The schedule of one collective. Of `ranks_per_node` neighbours algorithms know that they share a node, where that
/// matters to them: the tree between nodes, the order of pairwise messages. One rank sends nothing: no steps. Throws
/// InputError if the algorithm cannot do the collective.
[[nodiscard]] Schedule schedule_of(CollectiveKind kind, Algorithm algorithm, std::int64_t ranks, std::int64_t root = 0,
                                   std::int64_t ranks_per_node = 1);

}  // namespace twinstep::collectives
