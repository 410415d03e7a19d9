#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"
#include "strategies/textbook/textbook.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// ZeRO stage 2: every rank holds all parameters, and gradients and optimizer state of its shard. A bucket of gradients
/// lives only until it has been reduce-scattered, in every micro-batch; sums over micro-batches are kept for the own
/// shard. Then every rank updates its shard and the shards are gathered. Moves (A + 1) N elements for A micro-batches.
/// In shard groups all that happens inside the group, and the sums are reduced over replicas in the last micro-batch.
/// Source: Rajbhandari et al., ZeRO, arXiv 1910.02054, sections 5.2 and 7.2.1.
class Zero2 : public DataParallel {
 public:
  explicit Zero2(StepContext& context)
      : DataParallel{context},
        lanes_{shard_lanes(context)},
        layout_{bucketed_layout(context, context.groups.shard_ranks())},
        own_shard_{context, layout_, context.groups.shard_axes()},
        parameters_{whole_parameters(context, layout_)},
        gradients_{context, layout_, lanes_},
        optimizer_{context, layout_.total() / context.groups.shard_ranks()},
        gather_name_{context.program.name("bucket.all_gather")},
        owed_{layout_},
        buckets_(layout_.groups().size()) {}

  Region parameter(ParameterId id) override { return layout_.place(parameters_, id); }
  Region gradient(ParameterId id) override {
    auto const index = layout_.group_of(id);
    if (!buckets_[index].exists()) buckets_[index] = gradients_.make_whole(layout_.groups()[index], "bucket");
    return layout_.place_in_group(buckets_[index], id);
  }
  PartialSums partial_sums() const override { return PartialSums::kEachBackward; }
  bool adds_to_gradients() const override { return false; }

  void gradient_is_ready(ParameterId id, OpId by) override {
    if (auto const* group = owed_.complete(id))
      gradients_.reduce(*group, std::exchange(buckets_[layout_.group_of(id)], {}), by);
  }

  void update() override {
    wait_for(context_, lanes_);
    clip_gradients(context_, gradients_.shard(), lanes_.inside);
    for (auto const& group : layout_.groups()) {
      auto const own = own_shard_.in(parameters_, group);
      auto const updated = optimizer_.update(layout_.shard_begin(group), own, gradients_.shard_of(group));
      all_gather(context_, lanes_.inside, gather_name_, own, layout_.place(parameters_, group), updated);
    }
  }

 private:
  ShardLanes lanes_;
  FlatLayout layout_;
  OwnShard own_shard_;
  BufferId parameters_;
  ShardedGradients gradients_;
  OptimizerStates optimizer_;
  NameId gather_name_;
  OwedGradients owed_;
  std::vector<BufferId> buckets_;  // by group: those that backward is filling
};

}  // namespace

std::unique_ptr<DataParallel> make_zero2(StepContext& context) {
  return std::make_unique<Zero2>(context);
}

}  // namespace twinstep::strategies
