#include <algorithm>

#include <fmt/core.h>

#include "strategies/parts/autocast.hpp"
#include "strategies/parts/clipping.hpp"
#include "strategies/parts/states.hpp"
#include "strategies/torch/ddp_buckets.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;

/// What a model keeps beside its parameters, such as the running statistics of batch norms: fp32, the same on every
/// rank once rank 0 has handed out its own.
class ModuleBuffers {
 public:
  explicit ModuleBuffers(StepContext& context) : context_{context} {
    if (auto const elements = context.model.buffer_elements; elements > 0)
      buffers_ = persistent_buffer(context, "module_buffers", elements, DataType::kFp32, MemoryCategory::kParameters);
  }

  /// Hands rank 0's to all, flattened into stretches of at most 250 MiB and copied back; compute goes on afterwards.
  /// Nothing without buffers. Source: torch/nn/parallel/distributed.py, _sync_module_buffers, broadcast_bucket_size.
  void hand_out(Lane lane) {
    constexpr std::int64_t kMostElements = (std::int64_t{250} << 20) / 4;
    if (!buffers_.exists()) return;
    auto const name = context_.program.name("module_buffers.broadcast");
    auto const total = context_.model.buffer_elements;
    for (std::int64_t begin = 0; begin < total; begin += kMostElements) {
      auto const part = Region{buffers_, begin, std::min(kMostElements, total - begin)};
      auto const flat = context_.role.whole(context_.role.buffer(
          {.name = name, .elements = part.elements, .type = DataType::kFp32, .category = MemoryCategory::kBuckets}));
      auto const flattened = copy_kernel(context_, context_.compute, name, part, flat);
      context_.role.wait(context_.compute, broadcast(context_, lane, name, flat, 0, flattened));
      copy_kernel(context_, context_.compute, name, flat, part);
    }
  }

 private:
  StepContext& context_;
  BufferId buffers_;  // none if there are none
};

/// PyTorch's DistributedDataParallel: every rank holds the whole model. Backward makes each gradient as a tensor of its
/// own (.grad); the reducer copies it into its bucket, divided by the number of ranks, and reduces the buckets as they
/// fill, in order, while backward goes on. At the end of backward the sums are copied back, unless gradients are views
/// of their buckets. The optimizer updates everything on every rank; then gradients are dropped
/// (zero_grad(set_to_none=True)), buckets stay. Moves 2 N elements; buckets cost N elements beside the gradients.
///
/// Since gradients are dropped in between, gradient_as_bucket_view too has backward make tensors of their own, which
/// are copied once and then replaced by the view. The mean over ranks is over the plan's loss of a rank, hence
/// `loss_scale`. Not modelled: the search through the graph for unused parameters, which is work of the host, and the
/// two broadcasts of the rebuilt bucket assignment between the first and the second iteration.
///
/// Source: Li et al., PyTorch Distributed, arXiv 2006.15704; torch/csrc/distributed/c10d/reducer.cpp
/// (mark_variable_ready_dense, mark_bucket_ready, finalize_backward); torch/nn/parallel/distributed.py.
class Ddp : public DataParallel {
 public:
  Ddp(DdpOptions const& options, StepContext& context)
      : DataParallel{context},
        options_{options},
        lane_{communication_lane(context)},
        layout_{context.parameters, ddp_buckets(context.parameters, options, held_type(context.plan)), 1},
        weights_{context, layout_},
        module_buffers_{context},
        optimizer_{context, layout_.total()},
        owed_{layout_},
        made_(context.parameters.count()),
        gradients_(context.parameters.count()),
        is_full_(layout_.groups().size()) {
    for (std::size_t i = 0; i < layout_.groups().size(); ++i) buckets_.push_back(make_bucket(i));
    if (finds_unused(options_)) make_used_map();
  }

  Region parameter(ParameterId id) override { return weights_.parameter(id); }
  Region gradient(ParameterId id) override {
    auto& made = made_[id.index()];
    if (!made.exists()) made = make_gradient(id, context_.plan.kernels.precision);
    return context_.role.whole(made);
  }
  bool adds_to_gradients() const override { return false; }

  void begin_micro_step() override {
    weights_.begin_micro_step();
    // A forward that follows one without sync finds buffers as they were.
    auto const follows_sync = context_.is_first_micro_step() || !options_.no_sync;
    if (options_.broadcast_buffers && follows_sync) module_buffers_.hand_out(lane_);
  }
  void before_module(ModuleId module, Pass pass) override { weights_.before_module(module, pass); }

  void gradient_is_ready(ParameterId id, OpId /*by*/) override {
    accumulate(id);
    if (!has_sync()) return;
    put_in_bucket(id);
    if (owed_.complete(id) == nullptr) return;
    is_full_[layout_.group_of(id)] = true;
    while (reduced_.size() < buckets_.size() && is_full_[reduced_.size()]) reduce(reduced_.size());
  }
  void after_backward(std::size_t unit) override {
    if (unit == 0 && has_sync() && reduced_.size() == buckets_.size()) finish();
  }
  /// With several chunks of a pipeline the first unit is not the last to go backward.
  void finish_gradients() override {
    if (!reduced_.empty()) finish();
  }

  std::optional<Region> finished_gradient(ParameterId id) override { return gradients_[id.index()]; }
  void update() override {
    auto gradients = std::vector<Region>{};
    for (auto const& bucket : layout_.groups())
      for (auto const id : bucket.members) gradients.push_back(gradients_[id.index()]);
    clip_gradients(context_, gradients);
    optimizer_.update(context_.compute, 0, context_.role.whole(weights_.held()), gradients);
  }

 private:
  [[nodiscard]] bool has_hook() const { return options_.comm_hook != DdpOptions::Hook::kNone; }
  [[nodiscard]] bool has_sync() const { return context_.is_last_micro_step() || !options_.no_sync; }
  [[nodiscard]] double share() const { return 1.0 / static_cast<double>(context_.plan.parallel.data); }
  [[nodiscard]] Region view(ParameterId id) const { return layout_.place_in_group(buckets_[layout_.group_of(id)], id); }

  BufferId make_bucket(std::size_t index) {
    auto const is_gradient = options_.gradient_as_bucket_view;
    return persistent_buffer(context_, fmt::format("bucket.{}", index), layout_.groups()[index].elements,
                             held_type(context_.plan),
                             is_gradient ? MemoryCategory::kGradients : MemoryCategory::kBuckets);
  }

  BufferId make_gradient(ParameterId id, DataType type) {
    return context_.role.buffer({.name = gradient_name_,
                                 .elements = context_.parameters.elements(id),
                                 .type = type,
                                 .category = MemoryCategory::kGradients});
  }

  /// Autograd's last node: what backward made becomes .grad, or is added to it.
  void accumulate(ParameterId id) {
    auto made = context_.role.whole(std::exchange(made_[id.index()], {}));
    if (held_type(context_.plan) != context_.plan.kernels.precision) {
      auto const wide = context_.role.whole(make_gradient(id, held_type(context_.plan)));
      copy_kernel(context_, context_.compute, cast_name_, made, wide);
      made = wide;
    }
    auto& sum = gradients_[id.index()];
    if (sum.buffer.exists())
      add_kernel(context_, context_.compute, add_name_, sum, made);
    else
      sum = made;
  }

  /// A hook divides by itself.
  void put_in_bucket(ParameterId id) {
    auto const scale = has_hook() ? 1 : share();
    auto& gradient = gradients_[id.index()];
    if (gradient.buffer != view(id).buffer)
      copy_kernel(context_, context_.compute, fill_name_, gradient, view(id), scale);
    else if (!has_hook())
      scale_kernel(context_, context_.compute, fill_name_, gradient, scale);
    if (options_.gradient_as_bucket_view) gradient = view(id);
  }

  /// Buckets follow each other on the communicator; each waits for all that compute has been given so far.
  void reduce(std::size_t index) {
    auto const whole = context_.role.whole(buckets_[index]);
    auto const filled = context_.role.last_on(context_.compute);
    reduced_.push_back(has_hook() ? reduce_compressed(whole, filled)
                                  : all_reduce(context_, lane_, reduce_name_, whole, filled));
    if (reduced_.size() == buckets_.size() && finds_unused(options_)) reduce_used_map();
  }

  /// torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, _compress_hook: cast, divide, reduce, and cast back
  /// on a stream of its own when the sum is there.
  OpId reduce_compressed(Region whole, OpId filled) {
    auto const is_bf16 = options_.comm_hook == DdpOptions::Hook::kBf16;
    auto const half = context_.role.whole(context_.role.buffer({.name = compressed_name_,
                                                                .elements = whole.elements,
                                                                .type = is_bf16 ? DataType::kBf16 : DataType::kFp16,
                                                                .category = MemoryCategory::kBuckets}));
    copy_kernel(context_, context_.compute, compressed_name_, whole, half);
    filled = scale_kernel(context_, context_.compute, compressed_name_, half, share());
    auto const stream = hook_stream_.exists() ? hook_stream_ : hook_stream_ = context_.role.stream("hook");
    context_.role.wait(stream, all_reduce(context_, lane_, reduce_name_, half, filled));
    return copy_kernel(context_, stream, decompress_name_, half, whole);
  }

  /// The end of backward.
  void finish() {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      context_.role.wait(context_.compute, reduced_[i]);
      if (options_.gradient_as_bucket_view) continue;
      for (auto const id : layout_.groups()[i].members)
        copy_kernel(context_, context_.compute, copy_back_name_, view(id), gradients_[id.index()]);
    }
    reduced_.clear();
    is_full_.assign(is_full_.size(), false);
  }

  // Which parameters this rank used: 4 bytes each, made on the host. (int32; executors that carry data have fp32.)
  void make_used_map() {
    auto const elements = static_cast<std::int64_t>(context_.parameters.count());
    used_on_host_ = persistent_buffer(context_, "used_parameters.host", elements, DataType::kFp32,
                                      MemoryCategory::kBuckets, MemorySpace::kHost);
    used_ = persistent_buffer(context_, "used_parameters", elements, DataType::kFp32, MemoryCategory::kBuckets);
  }

  /// The one before may be under way still: its sum is what nobody waits for (reducer.cpp, finalize_backward).
  void reduce_used_map() {
    auto const name = context_.program.name("used_parameters.all_reduce");
    auto const used = context_.role.whole(used_);
    if (used_map_reduced_.exists()) context_.role.wait(context_.compute, used_map_reduced_);
    auto const copied = copy_between(context_, context_.compute, name, context_.role.whole(used_on_host_), used);
    used_map_reduced_ = all_reduce(context_, lane_, name, used, copied);
  }

  DdpOptions const& options_;
  Lane lane_;
  FlatLayout layout_;
  AutocastParameters weights_;
  ModuleBuffers module_buffers_;
  OptimizerStates optimizer_;
  OwedGradients owed_;
  std::vector<BufferId> buckets_;
  std::vector<BufferId> made_;     // by parameter: what backward is making
  std::vector<Region> gradients_;  // by parameter: .grad
  std::vector<bool> is_full_;      // by bucket
  std::vector<OpId> reduced_;      // by bucket: what its sum waits for, in this micro-batch
  BufferId used_on_host_;
  BufferId used_;
  OpId used_map_reduced_;  // last
  StreamId hook_stream_;
  NameId gradient_name_ = context_.program.name("grad");
  NameId cast_name_ = context_.program.name("grad.cast");
  NameId add_name_ = context_.program.name("grad.accumulate");
  NameId fill_name_ = context_.program.name("bucket.fill");
  NameId reduce_name_ = context_.program.name("bucket.all_reduce");
  NameId copy_back_name_ = context_.program.name("bucket.copy_back");
  NameId compressed_name_ = context_.program.name("bucket.compress");
  NameId decompress_name_ = context_.program.name("bucket.decompress");
};

}  // namespace

std::unique_ptr<DataParallel> make_strategy(DdpOptions const& options, StepContext& context) {
  return std::make_unique<Ddp>(options, context);
}

}  // namespace twinstep::strategies
