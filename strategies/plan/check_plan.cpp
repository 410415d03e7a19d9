#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "strategies/plan/read_plan.hpp"

namespace twinstep::strategies {
namespace {

constexpr std::int64_t kMostSequences = std::int64_t{1} << 31;
constexpr std::int64_t kMostUnits = 125'000;  ///< that a rank runs in a step: seconds and gigabytes to simulate
constexpr double kMostActivations = 1e15;     ///< numbers that one rank could keep: a thousand times what any GPU holds

bool is_hybrid(Fsdp1Options::Sharding sharding) {
  using enum Fsdp1Options::Sharding;
  return sharding == kHybridShard || sharding == kHybridShardZero2;
}

/// At `key` of `object`, or at the object where the key was left to its default.
[[noreturn]] void refuse(io::Node const& object, std::string_view key, std::string const& found,
                         std::string_view way_out) {
  object.find(key).value_or(object).fail(found, way_out);
}

void check_accumulation(io::Node const& strategy, Plan const& plan, FsdpAccumulation accumulation) {
  if (accumulation == FsdpAccumulation::kReduceScatter && plan.parallel.shard_group == 0)
    refuse(strategy, "accumulation", "found reduce_scatter without replicas to all-reduce over",
           "use \"reduce\", or add \"shard_group\"");
}

/// Choices of a strategy's own options that contradict each other.
struct CheckOptions {
  io::Node const& strategy;
  Plan const& plan;

  void operator()(Fsdp1Options const& fsdp1) const {
    auto const sharding = name_of(fsdp1.sharding);
    auto const has_groups = plan.parallel.shard_group > 0;
    if (is_hybrid(fsdp1.sharding) && !has_groups)
      refuse(strategy, "sharding",
             fmt::format("found {} without \"shard_group\", the ranks that share states", sharding),
             "add it: the GPUs of a node, for PyTorch's default");
    if (!is_hybrid(fsdp1.sharding) && has_groups)
      refuse(strategy, strategy.has("replicas") ? "replicas" : "shard_group",
             fmt::format("found groups of ranks for {}, which has none", sharding),
             "leave it out, or use \"sharding\": \"HYBRID_SHARD\"");
    check_accumulation(strategy, plan, fsdp1.accumulation);
  }
  void operator()(Fsdp2Options const& fsdp2) const {
    check_accumulation(strategy, plan, fsdp2.accumulation);
    if (fsdp2.reshard_after_forward > 1 && plan.parallel.shard_group > 0)
      refuse(strategy, "reshard_after_forward",
             fmt::format("found groups of {} inside shard groups, expected true or false there",
                         fsdp2.reshard_after_forward),
             "leave out one of the two");
  }
  void operator()(DdpOptions const& ddp) const {
    if (ddp.comm_hook != DdpOptions::Hook::kNone && size_of(held_type(plan)) < size_of(DataType::kFp32))
      refuse(strategy, "comm_hook",
             fmt::format("found {} under gradients in {}, which it would not make smaller", name_of(ddp.comm_hook),
                         name_of(held_type(plan))),
             "leave it out, or hold parameters in fp32");
  }
  void operator()(auto const&) const {}
};

/// The strategies that offload so far, by name: "use deepspeed-3, fsdp1 or fsdp2".
std::string use_one_of(OffloadPlace OffloadLimits::*what, OffloadPlace place) {
  auto names = std::vector<std::string_view>{};
  for (auto const& traits : kStrategies)
    if (traits.offload.*what >= place) names.push_back(traits.name);
  std::ranges::sort(names);
  auto const last = names.back();
  names.pop_back();
  return names.empty() ? fmt::format("use {}", last) : fmt::format("use {} or {}", fmt::join(names, ", "), last);
}

void check_offload(io::Node const& strategy, Plan const& plan) {
  using enum OffloadPlace;
  auto const node = strategy.find("offload");
  if (!node) return;
  auto const name = name_of(plan.strategy);
  auto const& limits = plan.strategy.traits().offload;
  auto const& [optimizer, parameters, activations] = plan.states.offload;
  if (optimizer != kNone && limits.optimizer == kNone)
    refuse(*node, "optimizer", fmt::format("found an offloaded optimizer for {}, which has no such thing", name),
           use_one_of(&OffloadLimits::optimizer, kCpu));
  if (parameters != kNone && limits.parameters == kNone)
    refuse(*node, "parameters", fmt::format("found offloaded parameters for {}, which does not shard them", name),
           use_one_of(&OffloadLimits::parameters, kCpu));
  if (optimizer > limits.optimizer || parameters > limits.parameters)
    refuse(*node, parameters > limits.parameters ? "parameters" : "optimizer",
           fmt::format("found NVMe for {}, expected cpu", name), use_one_of(&OffloadLimits::optimizer, kNvme));
  if (limits.moves_both && optimizer != parameters)
    refuse(*node, "optimizer", fmt::format("{} offloads optimizer and parameters together", name),
           "write \"parameters\": \"cpu\" alone");
  if (parameters != kNone && optimizer == kNone)
    refuse(*node, "parameters", "found offloaded parameters without an offloaded optimizer, expected both",
           "add \"optimizer\": \"cpu\"");
}

/// What tensor ranks and stages cannot have beside them.
void check_mesh(io::Node const& training, io::Node const& strategy, Plan const& plan) {
  if (plan.parallel.pipeline.stages > 1 && plan.states.offload.activations)
    refuse(strategy.at("offload"), "activations",
           "found offloaded activations under a pipeline, which has several micro-batches in flight",
           "leave it out, or recompute");
  if (plan.parallel.tensor > 1 && plan.kernels.cross_entropy == CrossEntropy::kChunked)
    refuse(training, "cross_entropy", "found a chunked cross-entropy over tensor ranks, which share the vocabulary",
           "use plain or fused");
}

void check_optimizer(io::Node const& training, Plan const& plan) {
  auto const& states = plan.states;
  auto const optimizer = traits_of(states.optimizer);
  if (optimizer.is_paged && states.offload.optimizer != OffloadPlace::kNone)
    refuse(training, "optimizer", "found a paged optimizer, whose states lie in host memory already, offloaded too",
           "leave out the offload, or use adamw-fused or adamw-8bit");
  if (optimizer.has_8_bits && states.offload.optimizer == OffloadPlace::kNvme)
    refuse(training, "optimizer", "found an 8-bit optimizer on NVMe, which holds states of fp32",
           "use adamw-fused, or offload to the cpu");
}

/// Widest tensor of a unit, in numbers a token or sample.
struct Widest {
  Plan const& plan;

  /// Without flash attention it may be a row of scores for each head.
  double operator()(Transformer const& model) const {
    auto const width = std::max({model.hidden, model.query_width(), 2 * model.ffn, model.vocabulary});
    auto const scores = static_cast<double>(model.heads) * static_cast<double>(plan.batch.sequence_length);
    return std::max(static_cast<double>(width), plan.kernels.flash_attention ? 0.0 : scores);
  }
  double operator()(Mlp const& model) const { return static_cast<double>(std::ranges::max(model.widths)); }
  /// The stem's output: 64 channels of an image of half the size.
  double operator()(Cnn const& model) const {
    auto const side = static_cast<double>(model.image_size) / 2;
    return 64 * side * side;
  }
};

/// With embedding or stem, and head.
std::int64_t units_of(ModelSpec const& model) {
  return layers_of(model) + 2;
}

/// What a step would hold and run stays in what counters hold and what can be simulated.
void check_size(io::Node const& training, ModelSpec const& model, Plan const& plan) {
  auto const units = units_of(model);
  auto const activations = static_cast<double>(plan.batch.micro_batch) *
                           static_cast<double>(plan.batch.sequence_length) * static_cast<double>(units) *
                           std::visit(Widest{plan}, model);
  if (activations > kMostActivations)
    refuse(training, "micro_batch",
           fmt::format("found a micro-batch with about {:.1g} activations, expected at most {:.0g}", activations,
                       kMostActivations),
           "lower micro_batch or sequence_length");
  if (plan.batch.global_batch > kMostSequences)
    refuse(training, "micro_batch",
           fmt::format("found {} on each of {} ranks, expected a global batch of at most {}", plan.batch.micro_batch,
                       plan.parallel.data, kMostSequences),
           "lower micro_batch");
  if (!can_be_simulated(model, plan))
    refuse(training, "global_batch",
           fmt::format("found {} micro-batches of {} units on each rank, expected at most {} units in all",
                       accumulation(plan), units, kMostUnits),
           "lower global_batch, or raise micro_batch or the ranks");
}

}  // namespace

bool can_be_simulated(ModelSpec const& model, Plan const& plan) {
  auto const micro_batches = accumulation(plan);
  return micro_batches <= 1 || micro_batches <= kMostUnits / units_of(model);
}

void check_plan(io::Node const& training, io::Node const& strategy, ModelSpec const& model, Plan const& plan) {
  std::visit(CheckOptions{strategy, plan}, plan.strategy.options());
  check_offload(strategy, plan);
  check_mesh(training, strategy, plan);
  check_optimizer(training, plan);
  check_size(training, model, plan);
}

}  // namespace twinstep::strategies
