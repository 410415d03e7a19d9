#include <deque>
#include <vector>

#include "strategies/torch/fsdp_states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;
using Sharding = Fsdp1Options::Sharding;
using Prefetch = Fsdp1Options::Prefetch;

/// PyTorch's FullyShardedDataParallel. A unit's parameters are one flat tensor, of which every rank holds its shard.
///
/// Forward of a unit: the shard is cast (pre_unshard stream), gathered (unshard stream), used and freed; the host runs
/// ahead, so the next gather overlaps the computation. Before a gather the host waits while two frees are pending.
/// The root unit is not freed before its backward. Backward: gathered again, the unit before it too
/// (BACKWARD_PRE: before the computation; BACKWARD_POST: after it); then gradients are concatenated into one flat
/// tensor (compute), cast, divided, reduce-scattered, divided, cast and added up (post_backward stream). Gathers and
/// reductions share one communicator, so each delays the other.
///
/// SHARD_GRAD_OP keeps parameters from forward to backward. HYBRID_SHARD shards inside the shard group and sums the
/// shards of all groups. NO_SHARD holds everything and sums. Source: torch/distributed/fsdp/_runtime_utils.py.
class Fsdp1 : public DataParallel {
 public:
  Fsdp1(Fsdp1Options const& options, StepContext& context)
      : DataParallel{context},
        options_{options},
        units_{options.shards_root, context.model, context.parameters, options.wraps_from, context.chunks},
        layout_{context.parameters, units_.groups(), is_sharded() ? context.groups.shard_ranks() : 1},
        states_{context, layout_},
        pre_unshard_{context.role.stream("pre_unshard")},
        unshard_{context.role.stream("unshard")},
        post_backward_{context.role.stream("post_backward")},
        shard_group_{is_sharded() ? context.groups.shard(context.program) : CommunicatorId{}},
        divide_{divide_factors(context.plan.parallel.data)},
        unit_(units_.groups().size()) {}

  Region parameter(ParameterId id) override {
    auto const& home = unit_[layout_.group_of(id)].parameters;
    auto region = layout_.place_in_group(home.buffer, id);
    region.offset.base += home.offset.base;
    return region;
  }
  Region gradient(ParameterId id) override {
    auto& gradients = unit_[layout_.group_of(id)].gradients;
    if (!gradients.exists()) gradients = buffer(names_.gradients, group_of(id).elements, MemoryCategory::kGradients);
    return layout_.place_in_group(gradients, id);
  }
  PartialSums partial_sums() const override { return PartialSums::kEachBackward; }
  bool adds_to_gradients() const override { return false; }

  /// Nothing is gathered before the optimizer, or the micro-batch before, is done.
  void begin_micro_step() override {
    auto const last = context_.role.last_on(context_.compute);
    if (!last.exists()) return;
    context_.role.wait(pre_unshard_, last);
    context_.role.wait(unshard_, last);
  }
  void before_forward(std::size_t unit) override {
    use(units_.holding(unit));
    if (options_.forward_prefetch) gather(units_.after(unit));
  }
  void after_forward(std::size_t unit) override {
    auto const own = units_.holding(unit);
    if (own && !units_.is_root(*own) && reshards_after_forward()) free(*own);
  }
  void before_backward(std::size_t unit) override {
    use(units_.holding(unit));
    if (options_.backward_prefetch == Prefetch::kBackwardPre) gather(units_.before(unit));
  }
  void after_backward(std::size_t unit) override {
    auto const own = units_.holding(unit);
    if (!own || !units_.ends_backward(unit)) return;
    if (options_.backward_prefetch == Prefetch::kBackwardPost) gather(units_.before(unit));
    auto const last = context_.role.last_on(context_.compute);
    auto const keeps_parameters = !reshards_after_forward() && !synchronises();
    if (!keeps_parameters) free(*own, last);
    auto const whole = concatenate(*own);
    if (synchronises()) reduce(*own, whole);
  }
  void update() override {
    states_.update(post_backward_, is_sharded() ? std::optional{Lane{post_backward_, shard_group_}} : std::nullopt);
  }

 private:
  struct Unit {
    Region parameters;       // where its kernels find them; none while they are freed
    OpId ready;              // the gather or cast that brought them
    BufferId gradients;      // of the backward that runs
    Region whole_gradients;  // concatenated, and summed over micro-batches that do not reduce
  };
  struct Names {
    explicit Names(StepContext& context)
        : parameters{context.name("unit_parameters")},
          gather{context.name("unit.all_gather")},
          limit{context.name("unit.all_gather.limit")},
          gradients{context.name("unit_gradients")},
          concatenate{context.name("unit_gradients.concatenate")},
          accumulate{context.name("unit_gradients.accumulate")},
          padding{context.name("unit_gradients.zero_padding")},
          cast{context.name("unit_gradients.cast")},
          divide{context.name("unit_gradients.divide")},
          reduce{context.name("unit.reduce_scatter")},
          reduced{context.name("reduced_shard")},
          all_reduce{context.name("unit.all_reduce")} {}
    NameId parameters, gather, limit, gradients, concatenate, accumulate, padding, cast, divide, reduce, reduced,
        all_reduce;
  };

  [[nodiscard]] bool is_sharded() const { return options_.sharding != Sharding::kNoShard; }
  [[nodiscard]] bool reshards_after_forward() const {
    return options_.sharding == Sharding::kFullShard || options_.sharding == Sharding::kHybridShard;
  }
  [[nodiscard]] bool synchronises() const {
    return options_.accumulation != FsdpAccumulation::kNoSync || context_.is_last_micro_step();
  }
  [[nodiscard]] Group const& group_of(ParameterId id) const { return layout_.groups()[layout_.group_of(id)]; }
  [[nodiscard]] BufferId buffer(NameId name, std::int64_t elements, MemoryCategory category,
                                std::optional<DataType> type = {}) {
    return context_.role.buffer({.name = name,
                                 .elements = elements,
                                 .type = type.value_or(context_.plan.kernels.precision),
                                 .category = category});
  }

  void use(std::optional<std::size_t> unit) {
    if (!unit) return;
    gather(unit);
    if (unit_[*unit].ready.exists()) context_.role.wait(context_.compute, unit_[*unit].ready);
  }

  void gather(std::optional<std::size_t> unit) {
    if (!unit || unit_[*unit].parameters.buffer.exists()) return;
    if (is_sharded()) limit_gathers();
    auto const& group = layout_.groups()[*unit];
    auto const shard = states_.shard_to_gather(group, pre_unshard_);
    auto const cast = context_.role.last_on(pre_unshard_);
    if (!is_sharded()) {
      unit_[*unit].parameters = shard;
      unit_[*unit].ready = cast;
      return;
    }
    auto const whole =
        context_.role.whole(buffer(names_.parameters, group.elements, MemoryCategory::kGatheredParameters));
    unit_[*unit].ready = all_gather(context_, {unshard_, shard_group_}, names_.gather, shard, whole, cast);
    unit_[*unit].parameters = whole;
  }

  void limit_gathers() {
    constexpr std::size_t kMostPendingFrees = 2;  // _limiter_utils.py, max_num_inflight_all_gathers
    if (!options_.limit_all_gathers || frees_.size() < kMostPendingFrees) return;
    context_.role.host(names_.limit, std::span{&frees_.front(), 1});
    frees_.pop_front();
  }

  void free(std::size_t unit) { free(unit, context_.role.last_on(context_.compute)); }
  void free(std::size_t unit, OpId last_use) {
    if (is_sharded()) frees_.push_back(last_use);
    unit_[unit].parameters = {};
    unit_[unit].ready = {};
  }

  /// Autograd's gradient of the views that the flat parameter was split into: all their gradients behind each other;
  /// added to what micro-batches without reduction have left.
  Region concatenate(std::size_t unit) {
    auto const& group = layout_.groups()[unit];
    auto& gradients = unit_[unit].gradients;
    auto& sum = unit_[unit].whole_gradients;
    auto const whole = buffer(names_.gradients, group.elements, MemoryCategory::kGradients);
    copy_kernel(context_, context_.compute, names_.concatenate, {gradients, 0, group.used}, {whole, 0, group.used});
    if (auto const padding = group.elements - group.used; padding > 0)
      zero_kernel(context_, context_.compute, names_.padding, {whole, group.used, padding});
    gradients = {};
    if (sum.buffer.exists())
      add_kernel(context_, context_.compute, names_.accumulate, sum, context_.role.whole(whole));
    else
      sum = context_.role.whole(whole);
    return sum;
  }

  void reduce(std::size_t unit, Region whole) {
    auto const& group = layout_.groups()[unit];
    auto const type = context_.plan.states.reduce_type.value_or(context_.plan.kernels.precision);
    auto const category = states_.category_of_reduced(unit, type);
    context_.role.wait(post_backward_, context_.role.last_on(context_.compute));
    if (type != context_.plan.kernels.precision) {
      auto const cast = context_.role.whole(
          buffer(names_.cast, group.elements, is_sharded() ? MemoryCategory::kBuckets : category, type));
      copy_kernel(context_, post_backward_, names_.cast, whole, cast);
      whole = cast;
    }
    divide(whole, divide_.before);
    auto shard = whole;
    if (is_sharded()) {
      shard = context_.role.whole(buffer(names_.reduced, layout_.shard(group), category, type));
      reduce_scatter(context_, {post_backward_, shard_group_}, names_.reduce, whole, shard);
    }
    sum_replicas(shard);
    divide(shard, divide_.after);
    states_.keep_gradient(unit, shard, post_backward_);
    unit_[unit].whole_gradients = {};
  }

  void sum_replicas(Region shard) {
    if (!is_sharded())
      all_reduce(context_, {post_backward_, context_.groups.all(context_.program)}, names_.all_reduce, shard);
    else if (context_.groups.replicas() > 1)
      all_reduce(context_, {post_backward_, context_.groups.replicate(context_.program)}, names_.all_reduce, shard);
  }

  void divide(Region gradient, double by) {
    if (by > 1) scale_kernel(context_, post_backward_, names_.divide, gradient, 1 / by);
  }

  Fsdp1Options const& options_;
  FsdpUnits units_;
  FlatLayout layout_;
  FsdpStates states_;
  StreamId pre_unshard_;
  StreamId unshard_;
  StreamId post_backward_;
  CommunicatorId shard_group_;
  DivideFactors divide_;
  Names names_{context_};
  std::vector<Unit> unit_;
  std::deque<OpId> frees_;  // the last uses of freed units that the host has not waited for
};

}  // namespace

std::unique_ptr<DataParallel> make_strategy(Fsdp1Options const& options, StepContext& context) {
  return std::make_unique<Fsdp1>(options, context);
}

}  // namespace twinstep::strategies
