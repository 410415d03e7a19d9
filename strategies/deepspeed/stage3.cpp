#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "strategies/deepspeed/checks.hpp"
#include "strategies/deepspeed/deepspeed.hpp"
#include "strategies/deepspeed/gradients.hpp"
#include "strategies/deepspeed/offload.hpp"
#include "strategies/deepspeed/pieces.hpp"
#include "strategies/deepspeed/quantized.hpp"
#include "strategies/deepspeed/trace.hpp"
#include "strategies/parts/states.hpp"

namespace twinstep::strategies {
namespace {

using namespace program;
using Place = OffloadPlace;

/// DeepSpeed's ZeRO stage 3. Each parameter is cut into n equal, padded shards; those of at most
/// stage3_param_persistence_threshold elements are whole on every rank besides, and gathered after the update.
///
/// Before a leaf module (a linear layer, a norm) the coordinator fetches what it lacks and prefetches what the trace
/// holds next (schedule_fetches). Parameters that are fetched together are concatenated into a buffer, gathered, and
/// copied out of it on the allgather stream when the first of them is needed: the gathered size read and written once
/// more. Compute waits for that stream. Before it waits for a parameter, the host waits until at most two earlier ones
/// are still on their way.
///
/// Gradients are reduced bucket by bucket while backward goes on (PartitionGradients). Gathers and reductions share one
/// communicator and its stream, so each delays the other. Then gradients are checked, and every sub-group of the
/// partition is updated. Moves A (2 + 1) N elements, and persistent parameters once more.
///
/// Bytes a parameter: 18/n (2 shard, 4 gradient, 12 optimizer; deepspeed's estimator), and what is live, one bucket and
/// its concatenation. With offloaded parameters a shard is copied to the GPU before each gather. ZeRO++'s hpZ keeps a
/// second shard inside the shard group after forward, and gathers for backward from there; qwZ gathers 8 bits, qgZ
/// exchanges 4 (deepspeed_quantized.hpp); arXiv 2306.10209.
///
/// Source: deepspeed/runtime/zero/stage3.py, partition_parameters.py (all_gather_coalesced), parameter_offload.py;
/// runtime/comm/coalesced_collectives.py.
class DeepSpeed3 : public DataParallel {
 public:
  explicit DeepSpeed3(StepContext& context)
      : DataParallel{context},
        is_persistent_(persistent(context)),
        layout_{context.parameters, persistent_first(options(), context.parameters), context.groups.ranks()},
        second_{context.parameters, persistent_first(options(), context.parameters), context.groups.shard_ranks()},
        allgather_{context.role.stream("allgather")},
        lane_{communication_lane(context)},
        inside_{inner_lane(context, "communication.inside", &RankGroups::shard)},
        outside_{inner_lane(context, "communication.outside", &RankGroups::replicate)},
        trace_{record_trace(context)},
        parameters_(context.parameters.count()),
        gradients_{context, layout_, {lane_, inside_, outside_}} {
    schedule_fetches(trace_, context, is_persistent_);
    add_states();
  }

  Region parameter(ParameterId id) override {
    if (is_persistent_[id.index()]) return layout_.place(persistent_, id);
    return {parameters_[id.index()].buffer, 0, context_.parameters.elements(id)};
  }
  Region gradient(ParameterId id) override { return gradients_.of(id); }
  bool adds_to_gradients() const override { return false; }

  /// Nothing is gathered before the micro-batch before is done.
  void begin_micro_step() override {
    visit_ = 0;
    if (auto const last = context_.role.last_on(context_.compute); last.exists()) context_.role.wait(allgather_, last);
  }
  void before_module(ModuleId module, Pass pass) override {
    auto const& visit = trace_[visit_];
    gather(visit.fetch, pass);
    for (auto const id : context_.parameters.parameters_of(module)) use(id);
    if (auto const last = context_.role.last_on(allgather_); last.exists()) context_.role.wait(context_.compute, last);
    gather(visit.prefetch, pass);
  }
  void after_module(ModuleId /*module*/, Pass /*pass*/) override {
    for (auto const id : trace_[visit_++].release) release(id);
  }
  void gradient_is_ready(ParameterId id, OpId by) override { gradients_.add(id, by); }
  void after_backward(std::size_t unit) override {
    if (unit == 0) gradients_.finish();
  }
  void update() override {
    auto const lane = Lane{context_.compute, lane_.communicator};
    gather_persistent(cpu_optimizer_ ? cpu_optimizer_->update(gradients_.on_host(), lane, context_.role.whole(shards_))
                                     : update_partition(lane));
  }

 private:
  struct Gathered {  // parameters that were fetched together
    std::vector<ParameterId> members;
    BufferId buffer;
    OpId ready;
    std::int64_t ranks = 1;
    std::optional<Quantized> quantized;  // qwZ: what `buffer` is made from
  };
  struct Parameter {
    BufferId buffer;           // none while it is released
    std::size_t gathered = 0;  // by the how-manieth gather, from 1; 0 when the host has waited for it
    OpId second_shard;         // hpZ: the copy that left it
  };
  struct Names {
    explicit Names(StepContext& context)
        : shard{context.name("parameter_shard.to_gather")},
          gathered{context.name("gathered")},
          gather{context.name("module.all_gather")},
          parameter{context.name("parameter")},
          copy_out{context.name("module.all_gather.copy_out")},
          fetch_limit{context.name("module.all_gather.limit")},
          second{context.name("second_shard")},
          persistent{context.name("persistent_parameters.all_gather")} {}
    NameId shard, gathered, gather, parameter, copy_out, fetch_limit, second, persistent;
  };

  [[nodiscard]] DeepSpeedOptions const& options() const { return context_.plan.strategy.get<DeepSpeedOptions>(); }
  [[nodiscard]] bool has_second_shards() const { return options().zero_hpz_partition_size > 1; }
  [[nodiscard]] std::int64_t partition() const { return layout_.total() / layout_.shards(); }
  static Lane inner_lane(StepContext& context, std::string_view name,
                         CommunicatorId (RankGroups::*group)(ProgramBuilder&)) {
    if (context.plan.strategy.get<DeepSpeedOptions>().zero_hpz_partition_size <= 1) return {};
    return {context.role.stream(name), (context.groups.*group)(context.program)};
  }

  static std::vector<bool> persistent(StepContext const& context) {
    auto are_persistent = std::vector<bool>{};
    for (std::size_t i = 0; i < context.parameters.count(); ++i)
      are_persistent.push_back(
          is_persistent(context.plan.strategy.get<DeepSpeedOptions>(), context.parameters, ParameterId{i}));
    return are_persistent;
  }
  [[nodiscard]] std::int64_t persistent_elements() const {
    auto elements = std::int64_t{0};
    for (auto const& group : layout_.groups())
      if (is_persistent_[group.members.front().index()]) elements += group.elements;
    return elements;
  }

  void add_states() {
    using enum MemoryCategory;
    auto const precision = context_.plan.kernels.precision;
    auto const parameters = context_.plan.states.offload.parameters;
    auto const space = parameters == Place::kNone  ? MemorySpace::kDevice
                       : parameters == Place::kCpu ? MemorySpace::kHost
                                                   : MemorySpace::kNvme;
    shards_ = persistent_buffer(context_, "parameter_shard", partition(), precision, kParameters, space);
    persistent_ = persistent_buffer(context_, "persistent_parameters", persistent_elements(), precision, kParameters);
    if (has_second_shards())
      second_shards_ = persistent_buffer(context_, "second_shard", second_.total() / second_.shards(), precision,
                                         kGatheredParameters);
    if (offloads_optimizer(context_.plan))
      cpu_optimizer_.emplace(context_, partition(), sub_groups());
    else
      optimizer_.emplace(context_, partition(), MemorySpace::kDevice, OptimizerStates::Copies::kApart);
  }

  [[nodiscard]] BufferId buffer(NameId name, std::int64_t elements, MemoryCategory category,
                                MemorySpace space = MemorySpace::kDevice) {
    return context_.role.buffer({.name = name,
                                 .elements = elements,
                                 .type = context_.plan.kernels.precision,
                                 .category = category,
                                 .space = space});
  }

  /// Sends for `ids`, together. Backward of hpZ gathers second shards, inside the shard group.
  void gather(std::vector<ParameterId> const& ids, Pass pass) {
    if (ids.empty()) return;
    auto const is_inside = has_second_shards() && pass != Pass::kForward;
    auto const& layout = is_inside ? second_ : layout_;
    auto const lane = is_inside ? inside_ : lane_;
    auto shards = std::vector<Region>{};
    auto elements = std::int64_t{0};
    for (auto const id : ids) {
      auto const& of_layout = layout.groups()[layout.group_of(id)];
      shards.push_back(is_inside ? layout.place_shard(second_shards_, of_layout)
                                 : on_device(layout.place_shard(shards_, of_layout)));
      elements += of_layout.elements;
      parameters_[id.index()].gathered = gathers_.size() + 1;
      if (!is_inside) continue;
      for (auto const stream : {allgather_, lane.stream})
        context_.role.wait(stream, parameters_[id.index()].second_shard);
    }
    auto const own = shards.size() == 1 ? shards.front() : concatenate(shards, elements / layout.shards());
    auto const whole = buffer(names_.gathered, elements, MemoryCategory::kGatheredParameters);
    if (options().zero_quantized_weights) {
      auto const [quantized, ready] = gather_quantized(context_, allgather_, lane, own, layout.shards());
      gathers_.push_back({ids, whole, ready, layout.shards(), quantized});
      return;
    }
    auto const after = context_.role.last_on(allgather_);
    auto const ready = all_gather(context_, lane, names_.gather, own, context_.role.whole(whole), after);
    gathers_.push_back({ids, whole, ready, layout.shards(), {}});
  }

  /// A shard in host memory, or on NVMe, comes to the device first.
  [[nodiscard]] Region on_device(Region shard) {
    auto const bring = [&](MemorySpace space) {
      auto const to =
          context_.role.whole(buffer(names_.shard, shard.elements.base, MemoryCategory::kGatheredParameters, space));
      copy_between(context_, allgather_, names_.shard, shard, to);
      shard = to;
    };
    if (context_.plan.states.offload.parameters == Place::kNvme) bring(MemorySpace::kHost);
    if (context_.plan.states.offload.parameters != Place::kNone) bring(MemorySpace::kDevice);
    return shard;
  }

  [[nodiscard]] Region concatenate(std::vector<Region> const& shards, std::int64_t elements) {
    auto const own = context_.role.whole(buffer(names_.shard, elements, MemoryCategory::kGatheredParameters));
    auto pieces = std::vector<Piece>{};
    auto begin = std::int64_t{0};
    for (auto const& shard : shards) {
      pieces.push_back({shard, {own.buffer, begin, shard.elements}, {}});
      begin += shard.elements.base;
    }
    copy_pieces(context_, allgather_, names_.shard, pieces);
    return own;
  }

  /// The wait for one parameter, after which all that were fetched with it are there.
  void use(ParameterId id) {
    auto const number = std::exchange(parameters_[id.index()].gathered, 0);
    if (number == 0) return;
    constexpr std::size_t kMostFetches = 2;  // partitioned_param_coordinator.py, max_ongoing_fetch_events
    if (fetches_.size() > kMostFetches) {
      context_.role.host(names_.fetch_limit, std::span{&fetches_.front(), 1});
      fetches_.pop_front();
    }
    auto& gathered = gathers_[number - 1];
    if (gathered.buffer.exists()) copy_out(gathered);
    fetches_.push_back(latest_fetch_);
  }

  /// A parameter that came alone lies where it belongs.
  void copy_out(Gathered& gathered) {
    context_.role.wait(allgather_, gathered.ready);
    context_.role.wait(context_.compute, gathered.ready);
    latest_fetch_ = gathered.ready;
    auto const whole = std::exchange(gathered.buffer, {});
    if (gathered.quantized) {
      dequantize(context_, allgather_, *gathered.quantized, context_.role.whole(whole));
      latest_fetch_ = context_.role.last_on(allgather_);
    }
    if (gathered.members.size() == 1) {
      parameters_[gathered.members.front().index()].buffer = whole;
      return;
    }
    auto const stride = context_.role.get(whole).elements.base / gathered.ranks;
    auto begin = std::int64_t{0};
    for (auto const id : gathered.members) {
      auto const& layout = gathered.ranks == layout_.shards() ? layout_ : second_;
      auto const shard = layout.shard(layout.groups()[layout.group_of(id)]);
      auto const to = buffer(names_.parameter, shard * gathered.ranks, MemoryCategory::kGatheredParameters);
      latest_fetch_ = copy_pieces(context_, allgather_, names_.copy_out,
                                  interleaved({whole, begin, shard}, {to, 0, shard}, stride, gathered.ranks));
      parameters_[id.index()].buffer = to;
      begin += shard;
    }
  }

  /// Stretches of the shards of all ranks: `stride` elements apart on one side, behind each other on the other.
  [[nodiscard]] std::vector<Piece> interleaved(Region apart, Region together, std::int64_t stride,
                                               std::int64_t ranks) const {
    auto const shard = apart.elements.base;
    auto pieces = std::vector<Piece>{};
    if (!writes_every_piece(context_)) {
      auto const all = shard * ranks;
      return {{{apart.buffer, 0, all}, {together.buffer, together.offset, all}, {}}};
    }
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      pieces.push_back({{apart.buffer, apart.offset.base + rank * stride, shard},
                        {together.buffer, together.offset.base + rank * shard, shard},
                        {}});
    return pieces;
  }

  /// hpZ: what forward drops is kept as a second shard.
  void release(ParameterId id) {
    auto const whole = std::exchange(parameters_[id.index()].buffer, {});
    if (!has_second_shards() || trace_[visit_ - 1].pass != Pass::kForward) return;
    auto const& group = second_.groups()[second_.group_of(id)];
    auto const shard = second_.shard(group);
    auto const place = context_.program.variation({.along = context_.groups.shard_axes(), .stride = shard});
    parameters_[id.index()].second_shard =
        copy_kernel(context_, context_.compute, names_.second, {whole, {0, place}, shard},
                    second_.place_shard(second_shards_, group));
  }

  OpId update_partition(Lane lane) {
    auto const gradients = gradients_.on_device();
    check_gradients(context_, gradients, lane);
    auto updated = OpId{};
    for (auto const& [begin, count] : sub_groups())
      updated = optimizer_->update(begin, {shards_, begin, count}, {gradients.buffer, begin, count});
    return updated;
  }

  /// A sub-group closes with the parameter that fills it: however small its size, there are no more of them than
  /// parameters. Source: deepspeed/runtime/zero/stage3.py, _create_fp16_sub_groups.
  [[nodiscard]] std::vector<SubGroup> sub_groups() const {
    auto groups = std::vector<SubGroup>{{}};
    for (auto const& group : layout_.groups()) {
      auto const& open = groups.back();
      if (open.elements >= options().sub_group_size) groups.push_back({open.begin + open.elements, 0});
      groups.back().elements += layout_.shard(group);
    }
    return groups;
  }

  void gather_persistent(OpId updated) {
    context_.role.wait(allgather_, updated);
    for (auto const& group : layout_.groups()) {
      if (!is_persistent_[group.members.front().index()]) break;
      auto const shard = on_device(layout_.place_shard(shards_, group));
      auto const is_copied = context_.plan.states.offload.parameters != Place::kNone;
      auto const after = is_copied ? context_.role.last_on(allgather_) : updated;
      context_.role.wait(context_.compute, all_gather(context_, lane_, names_.persistent, shard,
                                                      layout_.place(persistent_, group), after));
    }
  }

  std::vector<bool> is_persistent_;
  FlatLayout layout_;
  FlatLayout second_;  // of hpZ
  StreamId allgather_;
  Lane lane_;
  Lane inside_;  // of ZeRO++'s hops
  Lane outside_;
  std::vector<ModuleVisit> trace_;
  std::size_t visit_ = 0;
  BufferId shards_;
  BufferId persistent_;
  BufferId second_shards_;
  std::vector<Parameter> parameters_;
  std::vector<Gathered> gathers_;
  std::deque<OpId> fetches_;  // that the host has not waited for
  OpId latest_fetch_;
  PartitionGradients gradients_;
  std::optional<OptimizerStates> optimizer_;
  std::optional<CpuOptimizer> cpu_optimizer_;
  Names names_{context_};
};

}  // namespace

std::unique_ptr<DataParallel> make_deepspeed3(StepContext& context) {
  return std::make_unique<DeepSpeed3>(context);
}

}  // namespace twinstep::strategies
