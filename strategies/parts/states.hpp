#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/parts/communication.hpp"
#include "strategies/parts/data_parallel.hpp"
#include "strategies/parts/flat_layout.hpp"
#include "strategies/parts/optimizer.hpp"

/// The model states of training as flat buffers, and what strategies do with them.
namespace twinstep::strategies {

/// Adds a persistent flat buffer.
[[nodiscard]] BufferId persistent_buffer(StepContext& context, std::string_view name, std::int64_t elements,
                                         DataType type, program::MemoryCategory category,
                                         program::MemorySpace space = program::MemorySpace::kDevice);

/// The stream of the paper's strategies for their collectives, over all ranks.
[[nodiscard]] Lane communication_lane(StepContext& context);

/// Where ranks that share states communicate, and where the ranks that hold the same shard of different copies do, if
/// there are several copies: on a stream of their own, so that both go on at a time.
struct ShardLanes {
  Lane inside;
  std::optional<Lane> across;
};
[[nodiscard]] ShardLanes shard_lanes(StepContext& context);

/// Sums a shard over its replicas after operation `after`; nothing where there is one copy of the states.
void sum_across(StepContext& context, ShardLanes const& lanes, program::Region own, OpId after);
/// Makes compute wait for all that was given to the lanes.
void wait_for(StepContext& context, ShardLanes const& lanes);

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

/// The stretch that belongs to this rank's shard of a group in a buffer that holds everything: begin + place · shard,
/// where place counts the ranks `along` axes of a grid.
class OwnShard {
 public:
  OwnShard(StepContext& context, FlatLayout const& layout, program::GridAxes along)
      : context_{context}, layout_{layout}, along_{along} {}
  [[nodiscard]] program::Region in(BufferId buffer, Group const& group);

 private:
  StepContext& context_;
  FlatLayout const& layout_;
  program::GridAxes along_;
  std::vector<std::pair<std::int64_t, program::VariationId>> by_shard_;  // one variation for each shard size
};

/// Gradients of which every rank keeps its shard. A group's whole gradients live from their computation to their
/// reduction; sums over micro-batches are kept in the shards. At most two groups at a time wait to be reduced, as with
/// DeepSpeed's two buffers: before it begins a third, the host waits for the reduction before the last.
class ShardedGradients {
 public:
  ShardedGradients(StepContext& context, FlatLayout const& layout, ShardLanes lanes);

  /// A buffer for the whole gradients of `group` in this micro-batch.
  [[nodiscard]] BufferId make_whole(Group const& group, std::string_view name);
  /// Reduce-scatters it into the shards after operation `after`, adding to what earlier micro-batches left there; after
  /// the last micro-batch the shard is summed over its replicas too.
  void reduce(Group const& group, BufferId whole, OpId after);

  [[nodiscard]] program::Region shard() const { return context_.role.whole(shards_); }
  [[nodiscard]] program::Region shard_of(Group const& group) const { return layout_.place_shard(shards_, group); }

 private:
  StepContext& context_;
  FlatLayout const& layout_;
  ShardLanes lanes_;
  BufferId shards_;
  NameId reduce_name_;
  NameId part_name_;
  NameId add_name_;
  NameId limit_name_;
  std::array<OpId, 2> latest_{};  // reductions that the host has not waited for
  std::size_t reductions_ = 0;
};

}  // namespace twinstep::strategies
