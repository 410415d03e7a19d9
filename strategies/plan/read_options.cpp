#include <algorithm>
#include <array>
#include <bitset>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "strategies/model/read_model.hpp"
#include "strategies/plan/read_plan.hpp"

namespace twinstep::strategies {
namespace {

using enum StrategyName;

constexpr std::int64_t kMostElements = 1'000'000'000'000'000;  ///< stands for "no limit"

class Owners {
 public:
  constexpr Owners(std::initializer_list<StrategyName> names) {
    for (auto const name : names) bits_ |= 1U << static_cast<unsigned>(name);
  }
  /// Those that have a trait.
  constexpr explicit Owners(bool StrategyTraits::*trait) {
    for (std::size_t i = 0; i < kStrategies.size(); ++i)
      if (kStrategies[i].*trait) bits_ |= 1U << i;
  }
  [[nodiscard]] constexpr bool contain(StrategyName name) const {
    return (bits_ >> static_cast<unsigned>(name) & 1U) != 0;
  }
  [[nodiscard]] std::string names() const {
    auto list = std::vector<std::string_view>{};
    for (std::size_t i = 0; i < kEnumSize<StrategyName>; ++i)
      if (contain(static_cast<StrategyName>(i))) list.push_back(name_of(static_cast<StrategyName>(i)));
    return fmt::format("{}", fmt::join(list, ", "));
  }

 private:
  unsigned bits_ = 0;
};

constexpr auto kDdpOnly = Owners{kDdp};
constexpr auto kFsdp1Only = Owners{kFsdp1};
constexpr auto kFsdp2Only = Owners{kFsdp2};
constexpr auto kFsdp = Owners{kFsdp1, kFsdp2};
constexpr auto kDeepSpeed = Owners{kDeepSpeed1, kDeepSpeed2, kDeepSpeed3};
constexpr auto kDeepSpeed12 = Owners{kDeepSpeed1, kDeepSpeed2};
constexpr auto kDeepSpeed3Only = Owners{kDeepSpeed3};
constexpr auto kMegatronOnly = Owners{kMegatron};
constexpr auto kBucketed = Owners{kDdp, kZero1, kZero2};
constexpr auto kGrouped = Owners{&StrategyTraits::has_groups};

std::int64_t read_elements(io::Node const& node, std::int64_t least) {
  return std::min(node.integer_from(least), kMostElements);
}

template <class Value>
struct ReadAs;
template <>
struct ReadAs<bool> {
  static bool read(io::Node const& node) { return node.boolean(); }
};
template <>
struct ReadAs<Bytes> {
  static Bytes read(io::Node const& node) { return node.bytes(); }
};
template <>
struct ReadAs<std::int64_t> {
  static std::int64_t read(io::Node const& node) { return read_elements(node, 1); }
};
template <class Enum>
requires std::is_enum_v<Enum>
struct ReadAs<Enum> {
  static Enum read(io::Node const& node) { return node.word<Enum>(); }
};
template <class Value>
struct ReadAs<std::optional<Value>> : ReadAs<Value> {};

using Read = void (*)(io::Node const&, ModelSpec const&, Plan&);

template <auto Field>
struct Member;
template <class Options, class Value, Value Options::*field>
struct Member<field> {
  using Of = Options;
  using Type = Value;
};
template <auto Field>
using OptionsOf = typename Member<Field>::Of;

/// Reads a field of the strategy's options by its type. Strategies that have the same option each name their field.
template <auto... Fields>
void put(io::Node const& node, ModelSpec const&, Plan& plan) {
  auto const put_one = [&]<auto field>() {
    auto* const options = plan.strategy.get_if<OptionsOf<field>>();
    if (options != nullptr) options->*field = ReadAs<typename Member<field>::Type>::read(node);
  };
  (put_one.template operator()<Fields>(), ...);
}

/// The same for a number of elements that may be zero.
template <auto Field>
void put_from_zero(io::Node const& node, ModelSpec const&, Plan& plan) {
  plan.strategy.get<OptionsOf<Field>>().*Field = read_elements(node, 0);
}

std::int64_t hidden_size(io::Node const& node, ModelSpec const& model) {
  auto const* const transformer = std::get_if<Transformer>(&model);
  if (transformer == nullptr)
    node.fail("found \"auto\" for a model without a hidden size", "give a number of elements");
  return transformer->hidden;
}

/// "auto" as Hugging Face's Trainer resolves it, from the hidden size h. Source: transformers,
/// integrations/deepspeed.py, trainer_config_finalize.
constexpr double square(std::int64_t h) {
  return static_cast<double>(h) * static_cast<double>(h);
}
constexpr double most_of_square(std::int64_t h) {
  return 0.9 * square(h);
}
constexpr double ten_times(std::int64_t h) {
  return 10 * static_cast<double>(h);
}

/// A number of elements from `least`, or "auto".
template <auto Field, std::int64_t least, double (*Auto)(std::int64_t)>
void put_or_auto(io::Node const& node, ModelSpec const& model, Plan& plan) {
  auto const is_auto = node.is(io::Node::Type::kString) && node.string() == "auto";
  plan.strategy.get<OptionsOf<Field>>().*Field =
      is_auto ? static_cast<std::int64_t>(std::min(Auto(hidden_size(node, model)), 1.0 * kMostElements))
              : read_elements(node, least);
}

/// true, false, or the size of the groups that keep the parameters between them.
void put_reshard(io::Node const& node, ModelSpec const&, Plan& plan) {
  auto const is_flag = node.is(io::Node::Type::kBoolean);
  plan.strategy.get<Fsdp2Options>().reshard_after_forward = is_flag ? (node.boolean() ? 1 : 0) : node.integer_from(2);
}

void put_shard_group(io::Node const& node, ModelSpec const&, Plan& plan) {
  plan.parallel.shard_group = node.integer_from(1);
  if (plan.parallel.shard_group > plan.parallel.data)
    node.fail(
        fmt::format("found groups of {}, expected at most the {} ranks", plan.parallel.shard_group, plan.parallel.data),
        "lower it");
}

void put_replicas(io::Node const& node, ModelSpec const&, Plan& plan) {
  auto const replicas = node.integer_from(1);
  if (plan.parallel.data % replicas != 0)
    node.fail(fmt::format("found {} replicas of the states, expected a divisor of the {} ranks", replicas,
                          plan.parallel.data),
              "change it or the ranks");
  plan.parallel.shard_group = plan.parallel.data / replicas;
}

/// "layers", "none", or the least that a unit holds.
void put_wrap(io::Node const& node, ModelSpec const&, Plan& plan) {
  auto wraps_from = std::int64_t{0};
  if (node.is(io::Node::Type::kNumber))
    wraps_from = node.integer_from(1);
  else if (node.string() == "none")
    wraps_from = std::numeric_limits<std::int64_t>::max();
  else if (node.string() != "layers")
    node.fail(fmt::format("found {}, expected layers, none or the least number of parameters of a unit",
                          quoted(node.string())),
              "choose one of them");
  if (plan.strategy.name() == StrategyName::kFsdp1)
    plan.strategy.get<Fsdp1Options>().wraps_from = wraps_from;
  else
    plan.strategy.get<Fsdp2Options>().wraps_from = wraps_from;
}

struct Option {
  std::string_view key;
  Owners owners;
  Read read;
};

constexpr auto kOptions = std::to_array<Option>({
    {"bucket", kBucketed, put<&DdpOptions::bucket, &TextbookOptions::bucket>},
    {"first_bucket", kBucketed, put<&DdpOptions::first_bucket, &TextbookOptions::first_bucket>},
    {"shard_group", kGrouped, put_shard_group},
    {"replicas", kGrouped, put_replicas},
    {"gradient_as_bucket_view", kDdpOnly, put<&DdpOptions::gradient_as_bucket_view>},
    {"static_graph", kDdpOnly, put<&DdpOptions::static_graph>},
    {"find_unused_parameters", kDdpOnly, put<&DdpOptions::find_unused_parameters>},
    {"broadcast_buffers", kDdpOnly, put<&DdpOptions::broadcast_buffers>},
    {"comm_hook", kDdpOnly, put<&DdpOptions::comm_hook>},
    {"no_sync", kDdpOnly, put<&DdpOptions::no_sync>},
    {"first_iteration", kDdpOnly, put<&DdpOptions::first_iteration>},
    {"sharding", kFsdp1Only, put<&Fsdp1Options::sharding>},
    {"backward_prefetch", kFsdp1Only, put<&Fsdp1Options::backward_prefetch>},
    {"forward_prefetch", kFsdp1Only, put<&Fsdp1Options::forward_prefetch>},
    {"limit_all_gathers", kFsdp1Only, put<&Fsdp1Options::limit_all_gathers>},
    {"reshard_after_forward", kFsdp2Only, put_reshard},
    {"shards_root", kFsdp, put<&Fsdp1Options::shards_root, &Fsdp2Options::shards_root>},
    {"wrap", kFsdp, put_wrap},
    {"accumulation", kFsdp, put<&Fsdp1Options::accumulation, &Fsdp2Options::accumulation>},
    {"reduce_bucket_size", kDeepSpeed, put_or_auto<&DeepSpeedOptions::reduce_bucket_size, 1, square>},
    {"overlap_comm", kDeepSpeed, put<&DeepSpeedOptions::overlap_comm>},
    {"reduce_scatter", kDeepSpeed12, put<&DeepSpeedOptions::reduce_scatter>},
    {"use_multi_rank_bucket_allreduce", kDeepSpeed12, put<&DeepSpeedOptions::use_multi_rank_bucket_allreduce>},
    {"stage3_prefetch_bucket_size", kDeepSpeed3Only,
     put_or_auto<&DeepSpeedOptions::stage3_prefetch_bucket_size, 0, most_of_square>},
    {"stage3_param_persistence_threshold", kDeepSpeed3Only,
     put_or_auto<&DeepSpeedOptions::stage3_param_persistence_threshold, 0, ten_times>},
    {"stage3_max_live_parameters", kDeepSpeed3Only, put_from_zero<&DeepSpeedOptions::stage3_max_live_parameters>},
    {"stage3_max_reuse_distance", kDeepSpeed3Only, put_from_zero<&DeepSpeedOptions::stage3_max_reuse_distance>},
    {"sub_group_size", kDeepSpeed3Only, put<&DeepSpeedOptions::sub_group_size>},
    {"zero_hpz_partition_size", kDeepSpeed3Only, put<&DeepSpeedOptions::zero_hpz_partition_size>},
    {"zero_quantized_weights", kDeepSpeed3Only, put<&DeepSpeedOptions::zero_quantized_weights>},
    {"zero_quantized_gradients", kDeepSpeed3Only, put<&DeepSpeedOptions::zero_quantized_gradients>},
    {"use_distributed_optimizer", kMegatronOnly, put<&MegatronOptions::use_distributed_optimizer>},
    {"overlap_grad_reduce", kMegatronOnly, put<&MegatronOptions::overlap_grad_reduce>},
    {"overlap_param_gather", kMegatronOnly, put<&MegatronOptions::overlap_param_gather>},
    {"grad_reduce_in_fp32", kMegatronOnly, put<&MegatronOptions::grad_reduce_in_fp32>},
    {"bucket_size", kMegatronOnly, put<&MegatronOptions::bucket_size>},
    {"pad_buckets_for_high_nccl_busbw", kMegatronOnly, put<&MegatronOptions::pad_buckets_for_high_nccl_busbw>},
});

/// Keys that every strategy has; others read them.
constexpr auto kCommon =
    std::to_array<std::string_view>({"$schema", "comment", "name", "ranks", "recompute", "offload", "parallel"});

[[noreturn]] void refuse_unknown(io::Node const& value, std::string_view key, StrategyName name) {
  auto known = std::vector<std::string_view>{kCommon.begin() + 2, kCommon.end()};
  for (auto const& option : kOptions)
    if (option.owners.contain(name)) known.push_back(option.key);
  value.fail(fmt::format("found the unknown key {}", quoted(key)), suggest_name(key, known));
}

}  // namespace

void read_options(io::Node const& strategy, ModelSpec const& model, Plan& plan) {
  for (auto const& [key, value] : strategy.members()) {
    if (value.is(io::Node::Type::kNull) || std::ranges::find(kCommon, key) != kCommon.end()) continue;
    auto const option = std::ranges::find(kOptions, key, &Option::key);
    if (option == kOptions.end()) refuse_unknown(value, key, plan.strategy.name());
    if (!option->owners.contain(plan.strategy.name()))
      value.fail(fmt::format("found {}, which {} does not have", key, name_of(plan.strategy)),
                 fmt::format("leave it out, or use {}", option->owners.names()));
    option->read(value, model, plan);
  }
}

}  // namespace twinstep::strategies
