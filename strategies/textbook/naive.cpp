#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"
#include "strategies/textbook/textbook.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// Data parallelism without buckets: every rank holds the whole model; after the backward pass of the last micro-batch
/// each gradient tensor is reduced by itself, and nothing overlaps. A step takes compute plus all communication. Moves
/// 2 N elements.
class Naive : public DataParallel {
 public:
  explicit Naive(StepContext& context)
      : DataParallel{context},
        lane_{communication_lane(context)},
        layout_{context.parameters, one_by_one(context.parameters), 1},
        parameters_{whole_parameters(context, layout_)},
        gradients_{whole_gradients(context, layout_)},
        optimizer_{context, layout_.total()} {}

  Region parameter(ParameterId id) override { return layout_.place(parameters_, id); }
  Region gradient(ParameterId id) override { return layout_.place(gradients_, id); }

  std::optional<Region> finished_gradient(ParameterId id) override { return gradient(id); }
  void finish_gradients() override {
    auto const backward_end = context_.role.last_on(context_.compute);
    auto const name = context_.program.name("gradient.all_reduce");
    for (auto const id : context_.parameters.ready_order())
      context_.role.wait(context_.compute, all_reduce(context_, lane_, name, gradient(id), backward_end));
  }
  void update() override {
    clip_gradients(context_, context_.role.whole(gradients_));
    optimizer_.update(0, context_.role.whole(parameters_), context_.role.whole(gradients_));
  }

 private:
  Lane lane_;
  FlatLayout layout_;
  BufferId parameters_;
  BufferId gradients_;
  OptimizerStates optimizer_;
};

}  // namespace

std::unique_ptr<DataParallel> make_naive(StepContext& context) {
  return std::make_unique<Naive>(context);
}

}  // namespace twinstep::strategies
