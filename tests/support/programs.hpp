#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/program/builder.hpp"

/// Small step programs that tests share. Each has one idea; all numbers are fp32, so every executor can run them.
namespace twinstep::tests {

/// A program under construction with the few things that most tests want.
class SmallProgram {
 public:
  explicit SmallProgram(program::Grid grid) : builder{std::move(grid)} {}
  explicit SmallProgram(std::vector<program::Grid> grids) : builder{std::move(grids)} {}
  /// `ranks` data-parallel ranks.
  explicit SmallProgram(std::int64_t ranks) : SmallProgram{program::Grid{{{"data", ranks}}}} {}

  /// A buffer that outlives the step.
  BufferId persistent(program::RoleBuilder& role, std::string_view name, program::RankValue elements,
                      DataType type = DataType::kFp32);
  /// A buffer that lives from its first use to its last.
  BufferId temporary(program::RoleBuilder& role, std::string_view name, program::RankValue elements,
                     DataType type = DataType::kFp32);
  /// out = scalar, for a whole buffer.
  OpId fill(program::RoleBuilder& role, StreamId stream, std::string_view name, BufferId buffer, double scalar = 1);
  /// to = from, for whole buffers of one size.
  OpId scale(program::RoleBuilder& role, StreamId stream, std::string_view name, BufferId from, BufferId to,
             double scalar = 1);
  /// How many elements a rank's chunk of `total` has, and where it begins, along axes of a grid.
  program::RankValue chunk_size(std::int64_t total, program::GridAxes along);
  program::RankValue chunk_offset(std::int64_t total, program::GridAxes along);

  program::ProgramBuilder builder;
};

/// One collective of `elements` on its large side over `ranks` ranks, from buffer "sent" to buffer "received", both
/// persistent, with the sizes that the collective gives and takes. Every rank has a receive buffer; what a collective
/// does not use is left alone.
[[nodiscard]] program::StepProgram one_collective(CollectiveKind kind, std::int64_t ranks, std::int64_t elements,
                                                  std::int64_t root = 0,
                                                  program::Reduction reduction = program::Reduction::kSum,
                                                  DataType type = DataType::kFp32);

/// "main" fills a; "side" waits for it and doubles it into b; "main" waits for that and adds both into c.
[[nodiscard]] program::StepProgram two_streams_with_waits();
/// all_reduce of the persistent buffer "gradient" onto itself.
[[nodiscard]] program::StepProgram in_place_all_reduce(std::int64_t ranks, std::int64_t elements);
/// On a 2 × 2 grid (data, tensor): all_reduce along data on one stream, along tensor on another; then both on the
/// communicator of all four ranks, from two streams.
[[nodiscard]] program::StepProgram two_communicators_on_a_mesh();
/// 8 ranks: pipeline 2 × data 2 × tensor 2, and experts folded over data and tensor: expert_data 2 × expert 4. One
/// all_reduce after another: of "a" along the experts, of "b" along tensor, of "c" along the experts' data.
[[nodiscard]] program::StepProgram folded_experts();
/// 6 ranks as 2 × 3 and as 3 × 2, of which neither folds the other: an all_reduce of "a" along the 3 of the first, one
/// of "b" along the 2 of the second.
[[nodiscard]] program::StepProgram crossed_grids();
/// Every rank sends "mine" to the next and receives "theirs" from the one before, as one group; then two coalesced
/// collectives as another.
[[nodiscard]] program::StepProgram groups_in_a_ring(std::int64_t ranks);
/// Two stages: the first sends two micro-batches of activations and gets gradients back, each in its turn.
[[nodiscard]] program::StepProgram pipeline_of_two_stages();
/// The host waits for a kernel, works for 20 us, and issues another kernel.
[[nodiscard]] program::StepProgram host_synchronisation();
/// A delay of 50 us on one stream beside kernels on another, which then waits for it.
[[nodiscard]] program::StepProgram delay_on_a_stream();
/// Two buffers of different sizes and categories that follow each other, beside a persistent one that nothing uses.
[[nodiscard]] program::StepProgram lifetimes_of_buffers();
/// Uneven shards of 10 elements: reduce_scatter into a shard, an update of it, all_gather back.
[[nodiscard]] program::StepProgram uneven_shards(std::int64_t ranks);
/// GEMM, gelu, and a copy to the host.
[[nodiscard]] program::StepProgram kernels_and_copies();

/// Rank 0 issues all_reduce then all_gather on one communicator; rank 1 only the first. Never ends.
[[nodiscard]] program::StepProgram missing_collective();
/// Rank 0 sends to rank 1, which never receives. Never ends.
[[nodiscard]] program::StepProgram send_without_receive();
/// Two ranks issue the collectives of two communicators in crossed order, waiting for each. Never ends.
[[nodiscard]] program::StepProgram crossed_collectives();

}  // namespace twinstep::tests
