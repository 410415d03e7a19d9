#include <vector>

#include "strategies/torch/fsdp_states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;
using Accumulation = FsdpAccumulation;

/// PyTorch's fully_shard. Each parameter is cut along its first dimension, and those of a unit are gathered together.
///
/// Forward of a unit: the shards are cast and copied into the gather's buffer (all_gather_copy_in stream), gathered
/// (all_gather stream) and copied out into the parameters (compute); the next gather, which the host issues while this
/// unit computes, waits for the copy-out before. Backward: copied out, then the unit before is gathered at once; when
/// the gradients are there, compute waits for the reduction before, copies them into the reduction's buffer, and they
/// are reduce-scattered (reduce_scatter stream), averaged; hybrid, the shards are averaged over replicas besides
/// (all_reduce stream). At most two gather buffers and one reduction buffer are alive: since the streams that gather
/// wait for the copy-out, and compute for the reduction, the host lets go of these without waiting for the device, and
/// the next ones take them.
///
/// In a stage of a pipeline each chunk is such a model, and what follows a backward waits for the last micro-batch.
///
/// reshard_after_forward = m keeps an m-th of the parameters after forward; backward then gathers inside groups of m.
/// Source: torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py.
class Fsdp2 : public DataParallel {
 public:
  Fsdp2(Fsdp2Options const& options, StepContext& context)
      : DataParallel{context},
        options_{options},
        units_{options.shards_root, context.model, context.parameters, options.wraps_from, context.chunks},
        layout_{context.parameters, units_.groups(), state_ranks(context), {.rows = true}},
        states_{context, layout_},
        copy_in_{context.role.stream("all_gather_copy_in")},
        all_gather_{context.role.stream("all_gather")},
        reduce_scatter_{context.role.stream("reduce_scatter")},
        all_reduce_{context.role.stream("all_reduce")},
        state_group_{reshards_to_part() ? context.groups.all(context.program) : context.groups.shard(context.program)},
        own_place_{context, reshards_to_part() ? context.groups.all_axes() : context.groups.shard_axes()},
        part_place_{context, context.groups.shard_axes()},
        unit_(units_.groups().size()) {}

  Region parameter(ParameterId id) override {
    return layout_.place_in_group(unit_[layout_.group_of(id)].parameters, id);
  }
  Region gradient(ParameterId id) override {
    auto const unit = layout_.group_of(id);
    auto& gradients = unit_[unit].gradients;
    if (!gradients.exists()) {
      gradients = buffer(names_.gradients, layout_.groups()[unit].elements, MemoryCategory::kGradients);
      zero_rows(unit);
    }
    return layout_.place_in_group(gradients, id);
  }
  PartialSums partial_sums() const override { return PartialSums::kEachBackward; }
  bool adds_to_gradients() const override { return false; }

  /// Nothing is gathered before the optimizer, or the micro-batch before, is done.
  void begin_micro_step() override {
    if (auto const last = context_.role.last_on(context_.compute); last.exists()) gathers_wait_for(last);
  }
  void before_forward(std::size_t unit) override {
    auto const own = units_.holding(unit);
    if (!own || unit_[*own].parameters.exists()) return;
    gather(*own);
    auto const before = copied_out_.size();
    copy_out(*own);
    reuse_first(before);
  }
  void after_forward(std::size_t unit) override {
    auto const own = units_.holding(unit);
    if (!own || units_.is_root(*own) || options_.reshard_after_forward == 0) return;
    if (reshards_to_part()) keep_part(*own);
    unit_[*own].parameters = {};
  }
  void before_backward(std::size_t unit) override {
    auto const own = units_.holding(unit);
    if (!own) return;
    if (!unit_[*own].parameters.exists()) {
      gather(*own);
      copy_out(*own);
      reuse_first(copied_out_.size());
    }
    if (auto const next = units_.before(unit); next && !unit_[*next].parameters.exists()) gather(*next);
  }
  void after_backward(std::size_t unit) override {
    auto const own = units_.holding(unit);
    if (context_.is_pipelined()) return after_backward_of_stage(unit, own);
    if (!own || !units_.ends_backward(unit)) return;
    unit_[*own].parameters = unit_[*own].part = {};
    auto const synchronises = options_.accumulation != Accumulation::kNoSync || context_.is_last_micro_step();
    synchronises ? reduce(*own) : accumulate(*own);
  }
  void update() override { states_.update(reductions(), Lane{reductions(), state_group_}); }

 private:
  /// With other micro-batches in flight parameters stay as they are, and gradients add up unsharded. Behind the last
  /// backward of a chunk all its units are reduced. Source: torch/distributed/pipelining/stage.py,
  /// backward_maybe_with_nosync.
  void after_backward_of_stage(std::size_t unit, std::optional<std::size_t> own) {
    if (own && units_.ends_backward(unit)) accumulate(*own);
    auto const chunk = chunk_of(context_.chunks, unit).value();
    if (unit != chunk.first || !context_.is_last_micro_step()) return;
    for (auto each = chunk.end; each-- > chunk.first;) {
      auto const held = units_.holding(each);
      if (!held || !units_.ends_backward(each)) continue;
      unit_[*held].parameters = unit_[*held].part = {};
      reduce(*held);
    }
  }

  struct Unit {
    Region gathered;       // the gather's result, until it is copied out
    OpId ready;            // the gather
    BufferId parameters;   // copied out; none while they are resharded
    BufferId part;         // what is kept after forward with reshard_after_forward = m
    BufferId gradients;    // of the backward that runs
    BufferId accumulated;  // over micro-batches that do not reduce
    Region reduced;        // shards of micro-batches that were not averaged over replicas
  };
  struct CopiedOut {
    OpId by;
    BufferId gathered;
  };
  struct Names {
    explicit Names(StepContext& context)
        : gathered{context.name("all_gather_buffer")},
          copy_in{context.name("unit.all_gather.copy_in")},
          gather{context.name("unit.all_gather")},
          parameters{context.name("unit_parameters")},
          copy_out{context.name("unit.all_gather.copy_out")},
          part{context.name("unit_parameters.resharded")},
          gradients{context.name("unit_gradients")},
          padding{context.name("unit_gradients.zero_padding")},
          accumulate{context.name("unit_gradients.accumulate")},
          reduce_copy_in{context.name("unit.reduce_scatter.copy_in")},
          divide{context.name("unit_gradients.divide")},
          reduce{context.name("unit.reduce_scatter")},
          reduced{context.name("reduced_shard")},
          all_reduce{context.name("unit.all_reduce")} {}
    NameId gathered, copy_in, gather, parameters, copy_out, part, gradients, padding, accumulate, reduce_copy_in,
        divide, reduce, reduced, all_reduce;
  };
  /// The stretch of a buffer that holds a group alone which belongs to this rank, of so many equal ones.
  class OwnPlace {
   public:
    OwnPlace(StepContext& context, program::GridAxes along) : context_{&context}, along_{along} {}
    [[nodiscard]] Region in(BufferId buffer, std::int64_t elements) {
      auto known = std::ranges::find(by_size_, elements, &std::pair<std::int64_t, VariationId>::first);
      if (known == by_size_.end()) {
        by_size_.emplace_back(elements, context_->program.variation({.along = along_, .stride = elements}));
        known = by_size_.end() - 1;
      }
      return {buffer, RankValue{0, known->second}, elements};
    }

   private:
    StepContext* context_;
    program::GridAxes along_;
    std::vector<std::pair<std::int64_t, VariationId>> by_size_;
  };

  [[nodiscard]] static std::int64_t state_ranks(StepContext const& context) {
    return context.plan.strategy.get<Fsdp2Options>().reshard_after_forward > 1 ? context.groups.ranks()
                                                                               : context.groups.shard_ranks();
  }
  [[nodiscard]] bool reshards_to_part() const { return options_.reshard_after_forward > 1; }
  [[nodiscard]] bool is_hybrid() const { return !reshards_to_part() && context_.groups.replicas() > 1; }
  [[nodiscard]] StreamId reductions() const { return is_hybrid() ? all_reduce_ : reduce_scatter_; }
  [[nodiscard]] BufferId buffer(NameId name, std::int64_t elements, MemoryCategory category,
                                std::optional<DataType> type = {}) {
    return context_.role.buffer({.name = name,
                                 .elements = elements,
                                 .type = type.value_or(context_.plan.kernels.precision),
                                 .category = category});
  }
  [[nodiscard]] DataType reduce_type() const {
    return context_.plan.states.reduce_type.value_or(context_.plan.kernels.precision);
  }

  void gathers_wait_for(OpId op) {
    context_.role.wait(copy_in_, op);
    context_.role.wait(all_gather_, op);
  }

  /// Gathers wait for the first `count` copies out, whose buffers they can then use again.
  void reuse_first(std::size_t count) {
    if (count == 0) return;
    gathers_wait_for(copied_out_[count - 1].by);
    for (std::size_t i = 0; i < count; ++i) idle_gathers_.push_back(copied_out_[i].gathered);
    copied_out_.erase(copied_out_.begin(), copied_out_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  /// The smallest idle buffer that is large enough, as the allocator chooses; a new one if none is.
  template <class Make>
  BufferId take(std::vector<BufferId>& idle, std::int64_t elements, Make make) {
    auto const size = [&](BufferId id) { return context_.role.get(id).elements.base; };
    auto best = idle.end();
    for (auto each = idle.begin(); each != idle.end(); ++each)
      if (size(*each) >= elements && (best == idle.end() || size(*each) < size(*best))) best = each;
    if (best == idle.end()) return make();
    auto const found = *best;
    idle.erase(best);
    return found;
  }

  void gather(std::size_t unit) {
    auto& [gathered, ready, parameters, part, gradients, accumulated, reduced] = unit_[unit];
    if (gathered.buffer.exists()) return;
    auto const& group = layout_.groups()[unit];
    auto const to = take(idle_gathers_, group.elements,
                         [&] { return buffer(names_.gathered, group.elements, MemoryCategory::kGatheredParameters); });
    gathered = {to, 0, group.elements};
    if (part.exists()) {
      auto const own = part_place_.in(to, group.elements / context_.groups.shard_ranks());
      copy_kernel(context_, copy_in_, names_.copy_in, context_.role.whole(part), own);
      ready = all_gather(context_, {all_gather_, context_.groups.shard(context_.program)}, names_.gather, own, gathered,
                         context_.role.last_on(copy_in_));
      return;
    }
    auto const own = own_place_.in(to, layout_.shard(group));
    copy_kernel(context_, copy_in_, names_.copy_in, states_.shard_to_gather(group, copy_in_), own);
    ready = all_gather(context_, {all_gather_, state_group_}, names_.gather, own, gathered,
                       context_.role.last_on(copy_in_));
  }

  void copy_out(std::size_t unit) {
    auto& state = unit_[unit];
    state.parameters = buffer(names_.parameters, layout_.groups()[unit].elements, MemoryCategory::kGatheredParameters);
    context_.role.wait(context_.compute, state.ready);
    auto const by =
        copy_kernel(context_, context_.compute, names_.copy_out, state.gathered, context_.role.whole(state.parameters));
    copied_out_.push_back({by, std::exchange(state.gathered, {}).buffer});
  }

  /// What is left after forward of a unit that is resharded to groups of m: the rank's m-th of it.
  void keep_part(std::size_t unit) {
    auto const elements = layout_.groups()[unit].elements / context_.groups.shard_ranks();
    auto& state = unit_[unit];
    state.part = buffer(names_.part, elements, MemoryCategory::kGatheredParameters);
    auto const kept = copy_kernel(context_, context_.compute, names_.part, part_place_.in(state.parameters, elements),
                                  context_.role.whole(state.part));
    context_.role.wait(copy_in_, kept);
  }

  /// Padding rows carry no gradient.
  void zero_rows(std::size_t unit) {
    auto const& group = layout_.groups()[unit];
    for (auto const id : group.members) {
      auto const elements = context_.parameters.elements(id);
      auto const padded = layout_.padded(id) - elements;
      if (padded == 0) continue;
      auto region = layout_.place_in_group(unit_[unit].gradients, id);
      zero_kernel(context_, context_.compute, names_.padding, {region.buffer, region.offset.base + elements, padded});
    }
  }

  void accumulate(std::size_t unit) {
    auto& [gathered, ready, parameters, part, gradients, accumulated, reduced] = unit_[unit];
    auto const whole = context_.role.whole(std::exchange(gradients, {}));
    if (accumulated.exists()) {
      add_kernel(context_, context_.compute, names_.accumulate, context_.role.whole(accumulated), whole);
    } else if (reduce_type() == context_.plan.kernels.precision) {
      accumulated = whole.buffer;
    } else {
      accumulated = buffer(names_.gradients, whole.elements.base, MemoryCategory::kGradients, reduce_type());
      copy_kernel(context_, context_.compute, names_.accumulate, whole, context_.role.whole(accumulated));
    }
  }

  void reduce(std::size_t unit) {
    auto const& group = layout_.groups()[unit];
    if (unit_[unit].accumulated.exists() && unit_[unit].gradients.exists()) accumulate(unit);
    auto const gradients =
        std::exchange(unit_[unit].accumulated.exists() ? unit_[unit].accumulated : unit_[unit].gradients, {});
    auto const last = context_.role.last_on(reduce_scatter_);
    if (last.exists()) {
      context_.role.wait(context_.compute, last);
      idle_inputs_.push_back(reducing_);
    }
    reducing_ = take(idle_inputs_, group.elements, [&] {
      return buffer(names_.reduce_copy_in, group.elements, MemoryCategory::kBuckets, reduce_type());
    });
    auto const input = Region{reducing_, 0, group.elements};
    auto const copied = copy_kernel(context_, context_.compute, names_.reduce_copy_in, context_.role.whole(gradients),
                                    input, 1 / divide_.before);
    auto const shard = context_.role.whole(
        buffer(names_.reduced, layout_.shard(group), states_.category_of_reduced(unit, reduce_type()), reduce_type()));
    reduce_scatter(context_, {reduce_scatter_, state_group_}, names_.reduce, input, shard, copied, reduction());
    finish(unit, shard);
  }

  /// Averages a shard over replicas, if there are any and this micro-batch does it, and keeps it.
  void finish(std::size_t unit, Region shard) {
    auto& sum = unit_[unit].reduced;
    if (sum.buffer.exists()) {
      add_kernel(context_, reduce_scatter_, names_.accumulate, sum, shard);
      shard = sum;
    }
    if (is_hybrid() && options_.accumulation == Accumulation::kReduceScatter && !context_.is_last_micro_step()) {
      sum = shard;
      return;
    }
    sum = {};
    if (is_hybrid())
      all_reduce(context_, {all_reduce_, context_.groups.replicate(context_.program)}, names_.all_reduce, shard,
                 context_.role.last_on(reduce_scatter_), reduction());
    if (divide_.after > 1) scale_kernel(context_, reductions(), names_.divide, shard, 1 / divide_.after);
    states_.keep_gradient(unit, shard, reductions());
  }

  /// fp16 sums with a division before and after; other types let NCCL average.
  [[nodiscard]] Reduction reduction() const { return divides() ? Reduction::kSum : Reduction::kAverage; }
  [[nodiscard]] bool divides() const { return reduce_type() == DataType::kFp16; }

  Fsdp2Options const& options_;
  FsdpUnits units_;
  FlatLayout layout_;
  FsdpStates states_;
  StreamId copy_in_;
  StreamId all_gather_;
  StreamId reduce_scatter_;
  StreamId all_reduce_;
  CommunicatorId state_group_;  // ranks that share one copy of the states
  OwnPlace own_place_;          // in a gather over them
  OwnPlace part_place_;         // in one inside a group of m
  DivideFactors divide_ = divides() ? divide_factors(context_.plan.parallel.data) : DivideFactors{};
  Names names_{context_};
  std::vector<Unit> unit_;
  std::vector<CopiedOut> copied_out_;  // that gathers do not wait for yet
  std::vector<BufferId> idle_gathers_;
  BufferId reducing_;  // the input of the reduction that runs
  std::vector<BufferId> idle_inputs_;
};

}  // namespace

std::unique_ptr<DataParallel> make_strategy(Fsdp2Options const& options, StepContext& context) {
  return std::make_unique<Fsdp2>(options, context);
}

}  // namespace twinstep::strategies
