#include <array>
#include <optional>
#include <vector>

#include "strategies/deepspeed/checks.hpp"
#include "strategies/deepspeed/deepspeed.hpp"
#include "strategies/deepspeed/offload.hpp"
#include "strategies/deepspeed/pieces.hpp"
#include "strategies/parts/states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// DeepSpeed's ZeRO stages 1 and 2. Parameters lie in one flat 16-bit buffer, of which each rank has an equal
/// partition: fp32 masters, Adam's moments and fp32 gradients of that.
///
/// When a gradient is there it is copied into a contiguous (IPG) buffer of reduce_bucket_size; one that does not fit
/// any more has the bucket reduced first, and one larger than a bucket is reduced alone, where it lies. A bucket is
/// divided by the ranks and all-reduced as a whole, and each rank keeps what is its own: that is what "reduce_scatter"
/// means here. Without use_multi_rank_bucket_allreduce there is a reduce for every rank that has a part of it; without
/// reduce_scatter it is divided afterwards. All this on the compute stream; with overlap_comm on a reduction stream,
/// from one of two buffers: compute then waits for the reduction before, so that one bucket at a time is on its way,
/// and the host waits for the last one at the end of backward.
///
/// Stage 1 keeps whole gradients and reduces in the last micro-batch; without overlap_comm only after its backward, in
/// registration order. Stage 2 reduces in every micro-batch and adds up in the partition: 2 A N + N elements against
/// 3 N. Then gradients are checked, the partition is updated, and everything is gathered at once, not overlapped.
///
/// Bytes a parameter: stage 1 4 + 16/n, stage 2 2 + 18/n (deepspeed's estimator), and one or two buckets. With an
/// offloaded optimizer 4 or 2 on the GPU; see HostGradients and CpuOptimizer.
///
/// Not modelled: the order of gradients inside a bucket (here registration order).
/// Source: deepspeed/runtime/zero/stage_1_and_2.py (reduce_independent_p_g_buckets_and_remove_grads, average_tensor,
/// independent_gradient_partition_epilogue, step).
class DeepSpeed12 : public DataParallel {
 public:
  explicit DeepSpeed12(StepContext& context)
      : DataParallel{context},
        layout_{context.parameters, {in_registration_order()}, context.groups.ranks()},
        buckets_{context.parameters, buckets(), 1},
        lane_{overlaps() ? context.role.stream("reduction") : context.compute, context.groups.all(context.program)},
        parameters_{whole_parameters(context, layout_)},
        made_{context} {
    auto const add = [&](std::string_view name, std::int64_t elements, DataType type) {
      return persistent_buffer(context, name, elements, type, MemoryCategory::kGradients);
    };
    if (is_stage_1()) gradients_ = whole_gradients(context, layout_);
    if (offloads_optimizer(context.plan)) {
      host_gradients_.emplace(context, partition());
      cpu_optimizer_.emplace(context, partition(), std::vector{SubGroup{0, partition()}});
      return;
    }
    if (!is_stage_1()) sums_ = add("gradient_partition", partition(), context.plan.kernels.precision);
    wide_ = add("gradient_partition.wide", partition(), master_type(context.plan));
    optimizer_.emplace(context, partition(), MemorySpace::kDevice, OptimizerStates::Copies::kApart);
  }

  Region parameter(ParameterId id) override { return layout_.place(parameters_, id); }
  Region gradient(ParameterId id) override {
    if (is_stage_1()) return layout_.place(gradients_, id);
    return made_.of(id);
  }
  bool adds_to_gradients() const override { return is_stage_1() && !context_.is_first_micro_step(); }

  void gradient_is_ready(ParameterId id, OpId /*by*/) override {
    if (reduces() && reduces_in_backward()) put(id);
  }
  void after_backward(std::size_t unit) override {
    if (unit > 0 || !reduces()) return;
    if (!reduces_in_backward())
      for (auto const id : in_registration_order()) put(id);
    reduce_open();
    buffers_ = {};
    if (overlaps()) finish();
  }

  void update() override {
    auto const lane = Lane{context_.compute, lane_.communicator};
    auto const own = own_partition();
    if (cpu_optimizer_) {
      cpu_optimizer_->update(*host_gradients_, lane, own);
    } else {
      auto const gradients = context_.role.whole(wide_);
      if (sums_.exists()) copy_kernel(context_, context_.compute, widen_name_, context_.role.whole(sums_), gradients);
      check_gradients(context_, gradients, lane);
      optimizer_->update(0, own, gradients);
    }
    all_gather(context_, lane, gather_name_, own, context_.role.whole(parameters_));
  }

 private:
  [[nodiscard]] DeepSpeedOptions const& options() const { return context_.plan.strategy.get<DeepSpeedOptions>(); }
  [[nodiscard]] bool is_stage_1() const { return options().stage == 1; }
  [[nodiscard]] bool overlaps() const { return options().overlap_comm.value_or(false); }
  [[nodiscard]] bool reduces() const { return !is_stage_1() || context_.is_last_micro_step(); }
  [[nodiscard]] bool reduces_in_backward() const { return !is_stage_1() || overlaps(); }
  [[nodiscard]] std::int64_t partition() const { return layout_.total() / layout_.shards(); }

  [[nodiscard]] std::vector<ParameterId> in_registration_order() const {
    auto all = std::vector<ParameterId>{};
    for (std::size_t i = 0; i < context_.parameters.count(); ++i) all.emplace_back(i);
    return all;
  }

  /// Which gradients share a bucket, each bucket in registration order.
  [[nodiscard]] std::vector<std::vector<ParameterId>> buckets() const {
    auto groups = std::vector<std::vector<ParameterId>>{};
    auto size = std::int64_t{0};
    for (auto const id : reduces_in_backward() ? context_.parameters.ready_order() : in_registration_order()) {
      auto const elements = context_.parameters.elements(id);
      if (groups.empty() || size + elements > options().reduce_bucket_size) {
        groups.emplace_back();
        size = 0;
      }
      groups.back().push_back(id);
      size += elements;
    }
    for (auto& group : groups) std::ranges::sort(group);
    return groups;
  }
  /// Larger than a bucket.
  [[nodiscard]] bool is_alone(Group const& bucket) const { return bucket.elements > options().reduce_bucket_size; }

  [[nodiscard]] Region own_partition() {
    auto const place = context_.program.variation({.along = context_.groups.all_axes(), .stride = partition()});
    return {parameters_, {0, place}, partition()};
  }

  void put(ParameterId id) {
    auto const index = buckets_.group_of(id);
    if (open_ && *open_ != index) reduce_open();
    open_ = index;
    if (is_alone(buckets_.groups()[index])) return;
    copy_kernel(context_, context_.compute, fill_name_, gradient(id), buckets_.place_in_group(ipg_buffer(), id));
    made_.let_go(id);
  }

  [[nodiscard]] BufferId ipg_buffer() {
    auto& buffer = buffers_[which_];
    if (!buffer.exists())
      buffer = context_.role.buffer({.name = bucket_name_,
                                     .elements = options().reduce_bucket_size,
                                     .type = context_.plan.kernels.precision,
                                     .category = MemoryCategory::kBuckets});
    return buffer;
  }

  void reduce_open() {
    if (!open_) return;
    auto const& bucket = buckets_.groups()[*open_];
    auto const first = bucket.members.front();
    auto const region = is_alone(bucket) ? gradient(first) : Region{ipg_buffer(), 0, bucket.elements};
    if (overlaps()) hand_over();
    sum(bucket, region);
    keep_own(own_pieces(context_, layout_, buckets_, bucket, region, is_stage_1() ? wide_ : sums_));
    if (is_alone(bucket)) made_.let_go(first);
    if (overlaps()) which_ = 1 - which_;
    open_.reset();
  }

  /// The reduction waits for compute, and compute for the reduction before.
  void hand_over() {
    auto const before = context_.role.last_on(lane_.stream);
    context_.role.wait(lane_.stream, context_.role.last_on(context_.compute));
    if (before.exists()) context_.role.wait(context_.compute, before);
  }

  void sum(Group const& bucket, Region region) {
    auto const share = 1 / static_cast<double>(context_.plan.parallel.data);
    if (options().reduce_scatter) scale_kernel(context_, lane_.stream, divide_name_, region, share);
    if (options().reduce_scatter && !options().use_multi_rank_bucket_allreduce)
      reduce_to_owners(bucket, region);
    else
      all_reduce(context_, lane_, reduce_name_, region);
    if (!options().reduce_scatter) scale_kernel(context_, lane_.stream, divide_name_, region, share);
  }

  /// One reduce for each parameter and rank that has a part of it.
  void reduce_to_owners(Group const& bucket, Region region) {
    for (auto const id : bucket.members) {
      auto const end = layout_.offset(id) + context_.parameters.elements(id);
      for (auto begin = layout_.offset(id); begin < end;) {
        auto const owner = begin / partition();
        auto const stop = std::min(end, (owner + 1) * partition());
        auto const in_bucket = buckets_.offset(id) - bucket.begin + begin - layout_.offset(id);
        auto const part = Region{region.buffer, region.offset.base + in_bucket, stop - begin};
        context_.role.add(lane_.stream, reduce_name_,
                          Collective{.kind = CollectiveKind::kReduce,
                                     .type = context_.plan.kernels.precision,
                                     .communicator = lane_.communicator,
                                     .elements = part.elements,
                                     .root = owner},
                          part, part);
        begin = stop;
      }
    }
  }

  /// Stage 1 casts them for the update; stage 2 keeps them in 16 bits and adds up micro-batches.
  void keep_own(std::vector<Piece> const& pieces) {
    for (auto const& piece : pieces) {
      if (host_gradients_)
        host_gradients_->keep(lane_.stream, piece);
      else if (is_stage_1() || context_.is_first_micro_step())
        copy_kernel(context_, lane_.stream, keep_name_, piece.from, piece.to);
      else
        add_kernel(context_, lane_.stream, keep_name_, piece.to, piece.from);
    }
  }

  /// The end of backward: the device is synchronised.
  void finish() {
    auto const last = std::array{context_.role.last_on(lane_.stream), context_.role.last_on(context_.compute)};
    context_.role.host(context_.name("reduction.synchronize"), last);
  }

  FlatLayout layout_;
  FlatLayout buckets_;
  Lane lane_;
  BufferId parameters_;
  BufferId gradients_;  // stage 1: all
  BufferId sums_;       // stage 2: of the partition, over micro-batches
  BufferId wide_;       // of the partition, in fp32
  MadeGradients made_;  // stage 2
  std::array<BufferId, 2> buffers_;
  std::size_t which_ = 0;
  std::optional<std::size_t> open_;  // the bucket that is being filled
  std::optional<OptimizerStates> optimizer_;
  std::optional<HostGradients> host_gradients_;
  std::optional<CpuOptimizer> cpu_optimizer_;
  NameId bucket_name_ = context_.name("ipg_buffer");
  NameId fill_name_ = context_.name("ipg_buffer.fill");
  NameId divide_name_ = context_.name("ipg_buffer.divide");
  NameId reduce_name_ = context_.name("ipg_buffer.reduce");
  NameId keep_name_ = context_.name("gradient_partition.keep");
  NameId widen_name_ = context_.name("gradient_partition.widen");
  NameId gather_name_ = context_.name("parameters.all_gather");
};

}  // namespace

std::unique_ptr<DataParallel> make_deepspeed1_2(StepContext& context) {
  return std::make_unique<DeepSpeed12>(context);
}

}  // namespace twinstep::strategies
