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
        lane_{communication_lane(context)},
        layout_{bucketed_layout(context, 1)},
        parameters_{whole_parameters(context, layout_)},
        gradients_{whole_gradients(context, layout_)},
        optimizer_{context, layout_.total()},
        reduce_name_{context.program.name("bucket.all_reduce")},
        owed_{layout_} {}

  Region parameter(ParameterId id) override { return layout_.place(parameters_, id); }
  Region gradient(ParameterId id) override { return layout_.place(gradients_, id); }

  void gradient_is_ready(ParameterId id, OpId by) override {
    if (!context_.is_last_micro_step()) return;
    if (auto const* bucket = owed_.complete(id))
      all_reduce(context_, lane_, reduce_name_, layout_.place(gradients_, *bucket), by);
  }

  void update() override {
    context_.role.wait(context_.compute, context_.role.last_on(lane_.stream));
    optimizer_.update(0, context_.role.whole(parameters_), context_.role.whole(gradients_));
  }

 private:
  Lane lane_;
  FlatLayout layout_;
  BufferId parameters_;
  BufferId gradients_;
  OptimizerStates optimizer_;
  NameId reduce_name_;
  OwedGradients owed_;
};

}  // namespace

std::unique_ptr<DataParallel> make_ddp(StepContext& context) {
  return std::make_unique<Ddp>(context);
}

}  // namespace twinstep::strategies
