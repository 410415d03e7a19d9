#include "strategies/megatron/bucket_layout.hpp"
#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// Megatron-LM's DistributedDataParallel and distributed optimizer. Parameters and main gradients lie in two contiguous
/// buffers; products for weight gradients add to the main gradients directly, all micro-batches long. In the last one a
/// bucket is scaled and reduce-scattered as it fills, while backward goes on; over several instances of the optimizer
/// its shard is then all-reduced, on the same stream. Every rank updates its shard of each bucket. The next step begins
/// with gathering them: before a module's forward its bucket must have come, and then the next one is sent for
/// (overlap_param_gather); or they are gathered right after the update. Without the distributed optimizer buckets are
/// all-reduced, and every rank updates everything. Moves N gradients and N parameters.
///
/// Bytes a parameter on d ranks: 16-bit parameters with fp32 gradients 6 + 12/d (18 without the distributed optimizer);
/// with 16-bit gradients 4 + 16/d; all fp32 8 + 8/d (docs/user-guide/features/dist_optimizer.md).
///
/// Not modelled: gradients of norms, biases and embeddings, which Megatron makes apart and adds to the main gradients
/// by a kernel more.
///
/// Source: megatron/core/distributed/param_and_grad_buffer.py (start_grad_sync, finish_param_sync),
/// megatron/core/optimizer/distrib_optimizer.py, clip_grads.py.
class Megatron : public DataParallel {
 public:
  explicit Megatron(StepContext& context)
      : DataParallel{context},
        layout_{megatron_layout(context.parameters, options(), context.groups.ranks(), context.groups.shard_ranks(),
                                {context.stage, context.chunks})},
        lanes_{lanes(context)},
        own_shard_{context, layout_, context.groups.shard_axes()},
        parameters_{whole_parameters(context, layout_)},
        gradients_{
            persistent_buffer(context, "main_gradients", layout_.total(), gradient_type(), MemoryCategory::kGradients)},
        optimizer_{context, layout_.total() / layout_.shards(), MemorySpace::kDevice, OptimizerStates::Copies::kApart},
        owed_{layout_},
        gathers_(layout_.groups().size()) {}

  Region parameter(ParameterId id) override { return layout_.place(parameters_, id); }
  Region gradient(ParameterId id) override { return layout_.place(gradients_, id); }
  bool adds_to_gradients() const override { return true; }

  void begin_micro_step() override {
    if (context_.is_first_micro_step())
      zero_kernel(context_, context_.compute, zero_name_, context_.role.whole(gradients_));
  }
  void before_module(ModuleId module, Pass pass) override {
    if (pass != Pass::kForward || !context_.is_first_micro_step() || !gathers_ahead(options())) return;
    for (auto const id : context_.parameters.parameters_of(module)) finish_gather(layout_.group_of(id));
  }
  void gradient_is_ready(ParameterId id, OpId /*by*/) override {
    if (!context_.is_last_micro_step() || !options().overlap_grad_reduce) return;
    if (auto const* const bucket = owed_.complete(id)) reduce(*bucket);
  }

  std::optional<Region> finished_gradient(ParameterId id) override { return gradient(id); }
  void finish_gradients() override {
    if (!options().overlap_grad_reduce)
      for (auto const& bucket : layout_.groups()) reduce(bucket);
    wait_for(context_, lanes_);
  }
  void update() override {
    auto const gradients = main_gradients();
    clip_gradients(context_, gradients, is_sharded() ? std::optional{lanes_.inside} : std::nullopt, true);
    for (std::size_t i = 0; i < layout_.groups().size(); ++i) {
      auto const& bucket = layout_.groups()[i];
      optimizer_.update(layout_.shard_begin(bucket), own(parameters_, bucket), gradients[i]);
    }
    if (!is_sharded() || gathers_ahead(options())) return;
    for (std::size_t i = 0; i < layout_.groups().size(); ++i) context_.role.wait(context_.compute, gather(i));
  }

 private:
  [[nodiscard]] MegatronOptions const& options() const { return context_.plan.strategy.get<MegatronOptions>(); }
  [[nodiscard]] bool is_sharded() const { return options().use_distributed_optimizer; }
  [[nodiscard]] DataType gradient_type() const {
    auto const wide = master_type(context_.plan);
    return options().grad_reduce_in_fp32 ? wide : context_.plan.kernels.precision;
  }

  static ShardLanes lanes(StepContext& context) {
    auto const stream = context.role.stream("communication");
    auto const is_sharded = context.plan.strategy.get<MegatronOptions>().use_distributed_optimizer;
    auto& groups = context.groups;
    auto lanes = ShardLanes{{stream, is_sharded ? groups.shard(context.program) : groups.all(context.program)}, {}};
    if (is_sharded && groups.replicas() > 1) lanes.across = Lane{stream, groups.replicate(context.program)};
    return lanes;
  }

  /// What this rank updates of a bucket.
  [[nodiscard]] Region own(BufferId buffer, Group const& bucket) {
    return is_sharded() ? own_shard_.in(buffer, bucket) : layout_.place(buffer, bucket);
  }

  void reduce(Group const& bucket) {
    auto const whole = layout_.place(gradients_, bucket);
    auto const scaled = scale_kernel(context_, context_.compute, scale_name_, whole,
                                     1.0 / static_cast<double>(context_.plan.parallel.data));
    if (!is_sharded()) {
      all_reduce(context_, lanes_.inside, reduce_name_, whole, scaled);
      return;
    }
    auto const shard = own(gradients_, bucket);
    sum_across(context_, lanes_, shard, reduce_scatter(context_, lanes_.inside, reduce_name_, whole, shard, scaled));
  }

  /// What the optimizer reads, by bucket: the sums in place, or an fp32 copy where they have 16 bits.
  std::vector<Region> main_gradients() {
    auto gradients = std::vector<Region>{};
    for (auto const& bucket : layout_.groups()) {
      auto const sum = own(gradients_, bucket);
      gradients.push_back(size_of(gradient_type()) < size_of(master_type(context_.plan)) ? widened(sum) : sum);
    }
    return gradients;
  }
  Region widened(Region sum) {
    auto const wide = context_.role.whole(context_.role.buffer({.name = widen_name_,
                                                                .elements = sum.elements,
                                                                .type = master_type(context_.plan),
                                                                .category = MemoryCategory::kGradients}));
    copy_kernel(context_, context_.compute, widen_name_, sum, wide);
    return wide;
  }

  OpId gather(std::size_t index) {
    auto const& bucket = layout_.groups()[index];
    return all_gather(context_, lanes_.inside, gather_name_, own(parameters_, bucket),
                      layout_.place(parameters_, bucket), context_.role.last_on(context_.compute));
  }
  /// Buckets are filled from the model's end, so forward comes to the last one first.
  void finish_gather(std::size_t index) {
    auto& [op, has_come] = gathers_[index];
    if (has_come) return;
    has_come = true;
    if (!op.exists()) op = gather(index);
    context_.role.wait(context_.compute, op);
    if (index > 0 && !gathers_[index - 1].op.exists()) gathers_[index - 1].op = gather(index - 1);
  }

  /// Of a bucket's parameters, at the start of the step.
  struct Gather {
    OpId op;
    bool has_come = false;
  };

  FlatLayout layout_;
  ShardLanes lanes_;
  OwnShard own_shard_;
  BufferId parameters_;
  BufferId gradients_;
  OptimizerStates optimizer_;
  OwedGradients owed_;
  std::vector<Gather> gathers_;  // by bucket
  NameId zero_name_ = context_.program.name("main_gradients.zero");
  NameId scale_name_ = context_.program.name("bucket.scale");
  NameId reduce_name_ = context_.program.name(is_sharded() ? "bucket.reduce_scatter" : "bucket.all_reduce");
  NameId gather_name_ = context_.program.name("bucket.all_gather");
  NameId widen_name_ = context_.program.name("main_gradients.fp32");
};

}  // namespace

std::unique_ptr<DataParallel> make_strategy(MegatronOptions const& /*options*/, StepContext& context) {
  return std::make_unique<Megatron>(context);
}

}  // namespace twinstep::strategies
