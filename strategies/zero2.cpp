#include "strategies/states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// ZeRO stage 2: every rank holds all parameters, and gradients and optimizer state of its shard. A bucket of gradients
/// lives only until it has been reduce-scattered, in every micro-batch; sums over micro-batches are kept for the own
/// shard. Then every rank updates its shard and the shards are gathered. Moves (A + 1) N elements for A micro-batches.
/// Source: Rajbhandari et al., ZeRO, arXiv 1910.02054, sections 5.2 and 7.2.1.
class Zero2 : public DataParallel {
 public:
  explicit Zero2(StepContext& context)
      : DataParallel{context},
        layout_{context.parameters, bucketed(context.parameters, context.plan.precision, bucket_limits(context.plan)),
                context.plan.ranks},
        own_shard_{context, layout_},
        parameters_{persistent_buffer(context, "parameters", layout_.total(), context.plan.precision,
                                      MemoryCategory::kParameters)},
        gradients_{context, layout_},
        optimizer_{context, layout_.total() / context.plan.ranks},
        gather_name_{context.program.name("bucket.all_gather")},
        open_(layout_.groups().size()) {}

  Region parameter(ParameterId id) override {
    return {parameters_, layout_.offset(id), context_.parameters.elements(id)};
  }

  Region gradient(ParameterId id) override {
    auto& bucket = open_[layout_.group_of(id)];
    auto const& group = layout_.groups()[layout_.group_of(id)];
    if (!bucket.buffer.exists()) bucket = {gradients_.make_whole(group, "bucket"), group.members.size()};
    return {bucket.buffer, layout_.offset_in_group(id), context_.parameters.elements(id)};
  }
  bool adds_to_gradients() const override { return false; }

  void gradient_is_ready(ParameterId id, OpId by) override {
    auto const index = layout_.group_of(id);
    auto& bucket = open_[index];
    if (--bucket.missing > 0) return;
    gradients_.reduce(layout_.groups()[index], bucket.buffer, by);
    bucket = {};
  }

  void update() override {
    context_.role.wait(context_.compute, context_.role.last_on(context_.communication));
    for (auto const& group : layout_.groups()) {
      auto const own = own_shard_.in(parameters_, group.begin, group);
      auto const updated = optimizer_.update(layout_.shard_begin(group), own, gradients_.shard_of(group));
      all_gather(context_, gather_name_, own, {parameters_, group.begin, group.elements}, updated);
    }
  }

 private:
  /// A bucket that backward is filling.
  struct Bucket {
    BufferId buffer;
    std::size_t missing = 0;  // gradients
  };

  FlatLayout layout_;
  OwnShard own_shard_;
  BufferId parameters_;
  ShardedGradients gradients_;
  AdamW optimizer_;
  NameId gather_name_;
  std::vector<Bucket> open_;  // by group
};

}  // namespace

std::unique_ptr<DataParallel> make_zero2(StepContext& context) {
  return std::make_unique<Zero2>(context);
}

}  // namespace twinstep::strategies
