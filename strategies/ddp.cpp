#include "strategies/states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// Distributed data parallelism: every rank holds the whole model. Gradients lie in buckets, in the order in which
/// backward completes them; in the last micro-batch a bucket is reduced as soon as it is complete, one after another,
/// while backward goes on. A step takes about compute plus the last bucket. Moves 2 N elements. Source: Li et al.,
/// PyTorch Distributed, arXiv 2006.15704, section 3.2; torch/csrc/distributed/c10d/reducer.cpp.
class Ddp : public DataParallel {
 public:
  explicit Ddp(StepContext& context)
      : DataParallel{context},
        layout_{context.parameters, bucketed(context.parameters, context.plan.precision, bucket_limits(context.plan)),
                1},
        parameters_{persistent_buffer(context, "parameters", layout_.total(), context.plan.precision,
                                      MemoryCategory::kParameters)},
        gradients_{persistent_buffer(context, "gradients", layout_.total(), context.plan.precision,
                                     MemoryCategory::kGradients)},
        optimizer_{context, layout_.total()},
        reduce_name_{context.program.name("bucket.all_reduce")} {
    for (auto const& bucket : layout_.groups()) missing_.push_back(bucket.members.size());
  }

  Region parameter(ParameterId id) override { return place(parameters_, id); }
  Region gradient(ParameterId id) override { return place(gradients_, id); }

  void gradient_is_ready(ParameterId id, OpId by) override {
    if (!context_.is_last_micro_step()) return;
    auto const index = layout_.group_of(id);
    if (--missing_[index] > 0) return;
    auto const& bucket = layout_.groups()[index];
    all_reduce(context_, reduce_name_, {gradients_, bucket.begin, bucket.elements}, by);
  }

  void update() override {
    context_.role.wait(context_.compute, context_.role.last_on(context_.communication));
    optimizer_.update(0, context_.role.whole(parameters_), context_.role.whole(gradients_));
  }

 private:
  [[nodiscard]] Region place(BufferId buffer, ParameterId id) const {
    return {buffer, layout_.offset(id), context_.parameters.elements(id)};
  }

  FlatLayout layout_;
  BufferId parameters_;
  BufferId gradients_;
  AdamW optimizer_;
  NameId reduce_name_;
  std::vector<std::size_t> missing_;  // gradients that each bucket waits for
};

}  // namespace

std::unique_ptr<DataParallel> make_ddp(StepContext& context) {
  return std::make_unique<Ddp>(context);
}

}  // namespace twinstep::strategies
