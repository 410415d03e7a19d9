#include "strategies/states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// ZeRO stage 1: every rank holds all parameters and gradients, and the optimizer state of its shard. In the last
/// micro-batch each bucket of gradients is reduce-scattered as soon as it is complete; then every rank updates its
/// shard of the bucket and the shards are gathered. Moves 2 N elements. Source: Rajbhandari et al., ZeRO, arXiv
/// 1910.02054, sections 5.1 and 7.2.1.
class Zero1 : public DataParallel {
 public:
  explicit Zero1(StepContext& context)
      : DataParallel{context},
        layout_{context.parameters, bucketed(context.parameters, context.plan.precision, bucket_limits(context.plan)),
                context.plan.ranks},
        own_shard_{context, layout_},
        parameters_{persistent_buffer(context, "parameters", layout_.total(), context.plan.precision,
                                      MemoryCategory::kParameters)},
        gradients_{persistent_buffer(context, "gradients", layout_.total(), context.plan.precision,
                                     MemoryCategory::kGradients)},
        optimizer_{context, layout_.total() / context.plan.ranks},
        reduce_name_{context.program.name("bucket.reduce_scatter")},
        gather_name_{context.program.name("bucket.all_gather")} {
    for (auto const& bucket : layout_.groups()) missing_.push_back(bucket.members.size());
  }

  Region parameter(ParameterId id) override { return place(parameters_, id); }
  Region gradient(ParameterId id) override { return place(gradients_, id); }

  void gradient_is_ready(ParameterId id, OpId by) override {
    if (!context_.is_last_micro_step()) return;
    auto const index = layout_.group_of(id);
    if (--missing_[index] > 0) return;
    auto const& bucket = layout_.groups()[index];
    reduce_scatter(context_, reduce_name_, {gradients_, bucket.begin, bucket.elements},
                   own_shard_.in(gradients_, bucket.begin, bucket), by);
  }

  void update() override {
    context_.role.wait(context_.compute, context_.role.last_on(context_.communication));
    for (auto const& bucket : layout_.groups()) {
      auto const own = own_shard_.in(parameters_, bucket.begin, bucket);
      auto const updated =
          optimizer_.update(layout_.shard_begin(bucket), own, own_shard_.in(gradients_, bucket.begin, bucket));
      all_gather(context_, gather_name_, own, {parameters_, bucket.begin, bucket.elements}, updated);
    }
  }

 private:
  [[nodiscard]] Region place(BufferId buffer, ParameterId id) const {
    return {buffer, layout_.offset(id), context_.parameters.elements(id)};
  }

  FlatLayout layout_;
  OwnShard own_shard_;
  BufferId parameters_;
  BufferId gradients_;
  AdamW optimizer_;
  NameId reduce_name_;
  NameId gather_name_;
  std::vector<std::size_t> missing_;  // gradients that each bucket waits for
};

}  // namespace

std::unique_ptr<DataParallel> make_zero1(StepContext& context) {
  return std::make_unique<Zero1>(context);
}

}  // namespace twinstep::strategies
