#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"
#include "strategies/textbook/textbook.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// ZeRO stage 1: every rank holds all parameters and gradients, and the optimizer state of its shard. In the last
/// micro-batch each bucket of gradients is reduce-scattered as soon as it is complete; then every rank updates its
/// shard of the bucket and the shards are gathered. Moves 2 N elements. In shard groups all that happens inside the
/// group, and each shard is summed over its replicas in between, while backward goes on. Source: Rajbhandari et al.,
/// ZeRO, arXiv 1910.02054, sections 5.1 and 7.2.1.
class Zero1 : public DataParallel {
 public:
  explicit Zero1(StepContext& context)
      : DataParallel{context},
        lanes_{shard_lanes(context)},
        layout_{bucketed_layout(context, context.groups.shard_ranks())},
        own_shard_{context, layout_, context.groups.shard_axes()},
        parameters_{whole_parameters(context, layout_)},
        gradients_{whole_gradients(context, layout_)},
        optimizer_{context, layout_.total() / context.groups.shard_ranks()},
        reduce_name_{context.program.name("bucket.reduce_scatter")},
        gather_name_{context.program.name("bucket.all_gather")},
        owed_{layout_} {}

  Region parameter(ParameterId id) override { return layout_.place(parameters_, id); }
  Region gradient(ParameterId id) override { return layout_.place(gradients_, id); }

  void gradient_is_ready(ParameterId id, OpId by) override {
    if (!context_.is_last_micro_step()) return;
    auto const* const bucket = owed_.complete(id);
    if (bucket == nullptr) return;
    auto const own = own_shard_.in(gradients_, *bucket);
    sum_across(context_, lanes_, own,
               reduce_scatter(context_, lanes_.inside, reduce_name_, layout_.place(gradients_, *bucket), own, by));
  }

  std::optional<Region> finished_gradient(ParameterId id) override { return gradient(id); }
  void finish_gradients() override { wait_for(context_, lanes_); }
  void update() override {
    clip_gradients(context_, own_shards(), lanes_.inside);
    for (auto const& bucket : layout_.groups()) {
      auto const own = own_shard_.in(parameters_, bucket);
      auto const updated = optimizer_.update(layout_.shard_begin(bucket), own, own_shard_.in(gradients_, bucket));
      all_gather(context_, lanes_.inside, gather_name_, own, layout_.place(parameters_, bucket), updated);
    }
  }

 private:
  std::vector<Region> own_shards() {
    auto shards = std::vector<Region>{};
    for (auto const& bucket : layout_.groups()) shards.push_back(own_shard_.in(gradients_, bucket));
    return shards;
  }

  ShardLanes lanes_;
  FlatLayout layout_;
  OwnShard own_shard_;
  BufferId parameters_;
  BufferId gradients_;
  OptimizerStates optimizer_;
  NameId reduce_name_;
  NameId gather_name_;
  OwedGradients owed_;
};

}  // namespace

std::unique_ptr<DataParallel> make_zero1(StepContext& context) {
  return std::make_unique<Zero1>(context);
}

}  // namespace twinstep::strategies
