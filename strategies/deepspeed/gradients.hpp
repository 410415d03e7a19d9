#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "strategies/deepspeed/offload.hpp"
#include "strategies/deepspeed/pieces.hpp"
#include "strategies/parts/states.hpp"

namespace twinstep::strategies {

/// The gradients of a rank's partition in DeepSpeed's stage 3, and how they get there.
///
/// Gradients are copied into a bucket until one does not fit any more; one larger than a bucket stays where it is. Then
/// their shards are concatenated rank by rank (a single gradient without padding needs no copy), divided,
/// reduce-scattered and cast into the fp32 gradients of the partition, or on their way to host memory; later
/// micro-batches are added. All that on a reduction stream, or with overlap_comm off on the compute stream. The host
/// waits while more than two reductions are outstanding, and for all at the end of backward. Without reduce_scatter the
/// concatenation is all-reduced. With qgZ each gradient that divides goes its own way (reduce_quantized).
///
/// Source: deepspeed/runtime/zero/stage3.py (__add_grad_to_ipg_bucket, __reduce_and_partition_ipg_grads,
/// partition_grads), runtime/comm/coalesced_collectives.py (reduce_scatter_coalesced).
class PartitionGradients {
 public:
  struct Lanes {
    Lane all;
    Lane inside;  ///< of qgZ, if the plan has inner groups
    Lane outside;
  };

  /// `layout` has one group for each parameter.
  PartitionGradients(StepContext& context, FlatLayout const& layout, Lanes lanes);

  /// Where backward puts the gradient of `id`.
  [[nodiscard]] program::Region of(ParameterId id) { return made_.of(id); }
  /// It is complete after operation `by`.
  void add(ParameterId id, OpId by);
  /// The end of backward.
  void finish();
  /// The partition's, in fp32: on the device, or on the host where the optimizer is offloaded.
  [[nodiscard]] program::Region on_device() const { return context_.role.whole(sums_); }
  [[nodiscard]] HostGradients const& on_host() const { return *host_gradients_; }

 private:
  struct Member {  // of the bucket
    ParameterId id;
    program::Region gradient;
  };

  [[nodiscard]] DeepSpeedOptions const& options() const { return context_.plan.strategy.get<DeepSpeedOptions>(); }
  [[nodiscard]] bool overlaps() const { return options().overlap_comm.value_or(true); }
  [[nodiscard]] Group const& group(ParameterId id) const { return layout_.groups()[layout_.group_of(id)]; }
  void put(ParameterId id);
  void reduce();
  void reduce_quantized_members();
  [[nodiscard]] program::Region sum();
  [[nodiscard]] std::vector<Piece> partitions_of(BufferId partitions, std::int64_t own);
  void add_shards(std::vector<Piece>& pieces, program::Region gradient, program::Region to, std::int64_t own);
  void keep(program::Region own);

  StepContext& context_;
  FlatLayout const& layout_;
  Lanes lanes_;
  StreamId reduce_;
  BufferId sums_;
  BufferId bucket_;
  MadeGradients made_;
  std::vector<Member> members_;
  std::int64_t bucket_elements_ = 0;
  std::deque<OpId> reductions_;  // that the host has not waited for
  std::optional<HostGradients> host_gradients_;
  NameId fill_name_ = context_.name("ipg_buffer.fill");
  NameId partitions_name_ = context_.name("ipg_buffer.partitions");
  NameId divide_name_ = context_.name("ipg_buffer.divide");
  NameId reduce_name_ = context_.name("ipg_buffer.reduce_scatter");
  NameId keep_name_ = context_.name("gradient_partition.keep");
  NameId limit_name_ = context_.name("ipg_buffer.limit");
};

}  // namespace twinstep::strategies
