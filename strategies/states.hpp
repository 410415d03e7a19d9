#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/data_parallel.hpp"
#include "strategies/flat_layout.hpp"

/// The model states of training as flat buffers, and what strategies do with them.
namespace twinstep::strategies {

/// Adds a persistent flat buffer.
[[nodiscard]] BufferId persistent_buffer(StepContext& context, std::string_view name, std::int64_t elements,
                                         DataType type, program::MemoryCategory category);

/// The plan's buckets of gradients, each cut into `shards`.
[[nodiscard]] FlatLayout bucketed_layout(StepContext const& context, std::int64_t shards);

/// Add the flat buffer of all parameters, or of all gradients, in the plan's precision.
[[nodiscard]] BufferId whole_parameters(StepContext& context, FlatLayout const& layout);
[[nodiscard]] BufferId whole_gradients(StepContext& context, FlatLayout const& layout);

/// Counts down the gradients that backward still owes each group.
class OwedGradients {
 public:
  explicit OwedGradients(FlatLayout const& layout);
  /// The group that the gradient of `id` completes, if it does; its count then begins anew.
  [[nodiscard]] Group const* complete(ParameterId id);

 private:
  FlatLayout const& layout_;
  std::vector<std::size_t> owed_;  // by group
};

/// The stretch that belongs to this rank's shard of a group in a buffer that holds everything: begin + rank · shard.
class OwnShard {
 public:
  OwnShard(StepContext& context, FlatLayout const& layout) : context_{context}, layout_{layout} {}
  [[nodiscard]] program::Region in(BufferId buffer, Group const& group);

 private:
  StepContext& context_;
  FlatLayout const& layout_;
  std::vector<std::pair<std::int64_t, program::VariationId>> by_shard_;  // one variation for each shard size
};

/// AdamW with the states that it keeps: two moments and, below fp32, master weights.
class AdamW {
 public:
  /// States for `elements` parameters.
  AdamW(StepContext& context, std::int64_t elements);

  /// Updates the stretch [begin, begin + elements) of the states with `gradient`, and `parameters` with them.
  OpId update(std::int64_t begin, program::Region parameters, program::Region gradient);

 private:
  StepContext& context_;
  NameId name_;
  BufferId master_;  // none in full precision
  BufferId first_moment_;
  BufferId second_moment_;
  std::int32_t bytes_per_element_ = 0;
};

/// Gradients of which every rank keeps its shard. A group's whole gradients live from their computation to their
/// reduction; sums over micro-batches are kept in the shards. At most two groups at a time wait to be reduced, as with
/// DeepSpeed's two buffers: before it begins a third, the host waits for the reduction before the last.
class ShardedGradients {
 public:
  ShardedGradients(StepContext& context, FlatLayout const& layout);

  /// A buffer for the whole gradients of `group` in this micro-batch.
  [[nodiscard]] BufferId make_whole(Group const& group, std::string_view name);
  /// Reduce-scatters it into the shards after operation `after`, adding to what earlier micro-batches left there.
  void reduce(Group const& group, BufferId whole, OpId after);

  [[nodiscard]] program::Region shard() const { return context_.role.whole(shards_); }
  [[nodiscard]] program::Region shard_of(Group const& group) const { return layout_.place_shard(shards_, group); }

 private:
  void add_to(program::Region sum, program::Region part);

  StepContext& context_;
  FlatLayout const& layout_;
  BufferId shards_;
  NameId reduce_name_;
  NameId part_name_;
  NameId add_name_;
  NameId limit_name_;
  std::array<OpId, 2> latest_{};  // reductions that the host has not waited for
  std::size_t reductions_ = 0;
};

// Collectives over all ranks, on the communication stream, not before operation `after` (if there is one) has ended.

/// Sums `whole` and leaves each rank its shard.
OpId reduce_scatter(StepContext& context, NameId name, program::Region whole, program::Region own, OpId after);
/// Hands every rank's shard to all.
OpId all_gather(StepContext& context, NameId name, program::Region own, program::Region whole, OpId after);
/// Sums `region`, in place.
OpId all_reduce(StepContext& context, NameId name, program::Region region, OpId after);

}  // namespace twinstep::strategies
