#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "sim/base/check.hpp"
#include "sim/base/enum_names.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/options.hpp"

namespace twinstep::strategies {

/// How data-parallel ranks share the states of training, and whose code does it: a row of `kStrategies`.
enum class StrategyName : std::uint8_t {
  kNaive,       ///< replicas; one all-reduce for each gradient tensor after the backward pass
  kDdp,         ///< PyTorch's: replicas; buckets of gradients are reduced while the backward pass goes on
  kZero1,       ///< as the paper has it: optimizer state sharded
  kZero2,       ///< and gradients
  kZero3,       ///< and parameters
  kFsdp1,       ///< PyTorch's FullyShardedDataParallel
  kFsdp2,       ///< PyTorch's fully_shard
  kDeepSpeed1,  ///< DeepSpeed's stages, as the code does them
  kDeepSpeed2,
  kDeepSpeed3,
  kMegatron  ///< Megatron-LM's distributed optimizer
};

/// Whose code a strategy follows.
enum class Family : std::uint8_t {
  kTextbook,  ///< nobody's: a paper's schedule, which no framework runs as it is
  kTorch,
  kDeepSpeed,
  kMegatron
};

using StrategyOptions =
    std::variant<TextbookOptions, DdpOptions, Fsdp1Options, Fsdp2Options, DeepSpeedOptions, MegatronOptions>;

/// Where states can be kept that a GPU needs only now and then; each includes those before it.
enum class OffloadPlace : std::uint8_t { kNone, kCpu, kNvme };

/// The farthest places that a strategy can offload to.
struct OffloadLimits {
  OffloadPlace optimizer = OffloadPlace::kNone;
  OffloadPlace parameters = OffloadPlace::kNone;
  bool moves_both = false;  ///< optimizer and parameters go together
};

/// The option that sizes a strategy's buckets of gradients, where it has one.
struct BucketOption {
  std::string_view key;
  bool counts_elements = true;  ///< otherwise bytes
};

/// What is asked about a strategy outside its own file.
struct StrategyTraits {
  std::string_view name;    ///< as users write it
  StrategyOptions options;  ///< the framework's defaults
  Family family = Family::kTextbook;
  /// Another one that holds less on each rank, for who runs out of memory.
  std::optional<StrategyName> shards_more;
  bool is_sharded = true;   ///< otherwise every rank holds everything
  bool has_groups = false;  ///< can shard inside groups of ranks that are replicas of each other
  /// PyTorch's own wrappers hold fp32 parameters and cast them for 16-bit compute: that is what autocast and
  /// MixedPrecision do. The others hold 16 bits.
  bool holds_fp32_parameters = false;
  /// The optimizer keeps fp32 masters of parameters that are held in 16 bits. PyTorch's own optimizers do not: their
  /// states have the parameters' type (torch/optim/adamw.py, zeros_like).
  bool keeps_masters = true;
  bool averages_gradients = true;       ///< over ranks; otherwise it adds them up
  bool takes_reduce_type = false;       ///< lets its users choose in which type gradients are reduced; if not …
  std::string_view reduces = "";        ///< … how it reduces them, where its own option does not say
  std::string_view reduce_option = "";  ///< … and its own option for that
  /// What is allocated during a step grows with the model's depth: every layer's gradients, or its gathered parameters.
  /// With the others it is a few layers or buckets, however many there are.
  bool piles_up = false;
  bool is_for_transformers = false;  ///< its framework trains nothing else
  OffloadLimits offload = {};
  BucketOption bucket = {};
  bool runs_pipelines = false;  ///< its states stay while a stage has several micro-batches in flight
};

/// One row a strategy, in the order of `StrategyName`.
// clang-format off
inline constexpr auto kStrategies = std::to_array<StrategyTraits>({
    {.name = "naive", .options = TextbookOptions{.stage = 0}, .shards_more = StrategyName::kZero1,
     .is_sharded = false, .averages_gradients = false, .reduces = "in the precision of compute", .runs_pipelines = true},
    {.name = "ddp", .options = DdpOptions{}, .family = Family::kTorch, .shards_more = StrategyName::kZero1,
     .is_sharded = false, .holds_fp32_parameters = true, .keeps_masters = false, .reduces = "as they are", .reduce_option = "comm_hook",
     .piles_up = true, .bucket = {"bucket", false}, .runs_pipelines = true},
    {.name = "zero-1", .options = TextbookOptions{.stage = 1}, .shards_more = StrategyName::kZero2,
     .has_groups = true, .averages_gradients = false, .reduces = "in the precision of compute",
     .bucket = {"bucket", false}, .runs_pipelines = true},
    {.name = "zero-2", .options = TextbookOptions{.stage = 2}, .shards_more = StrategyName::kZero3,
     .averages_gradients = false, .reduces = "in the precision of compute", .bucket = {"bucket", false}},
    {.name = "zero-3", .options = TextbookOptions{.stage = 3},
     .averages_gradients = false, .reduces = "in the precision of compute"},
    {.name = "fsdp1", .options = Fsdp1Options{}, .family = Family::kTorch,
     .has_groups = true, .holds_fp32_parameters = true, .keeps_masters = false, .takes_reduce_type = true, .piles_up = true,
     .offload = {OffloadPlace::kCpu, OffloadPlace::kCpu, true}},
    {.name = "fsdp2", .options = Fsdp2Options{}, .family = Family::kTorch,
     .has_groups = true, .holds_fp32_parameters = true, .keeps_masters = false, .takes_reduce_type = true, .piles_up = true,
     .offload = {OffloadPlace::kCpu, OffloadPlace::kCpu, true}, .runs_pipelines = true},
    {.name = "deepspeed-1", .options = DeepSpeedOptions{.stage = 1}, .family = Family::kDeepSpeed,
     .shards_more = StrategyName::kDeepSpeed2, .takes_reduce_type = true,
     .offload = {OffloadPlace::kCpu}, .bucket = {"reduce_bucket_size"}, .runs_pipelines = true},
    {.name = "deepspeed-2", .options = DeepSpeedOptions{.stage = 2}, .family = Family::kDeepSpeed,
     .shards_more = StrategyName::kDeepSpeed3, .takes_reduce_type = true,
     .offload = {OffloadPlace::kCpu}, .bucket = {"reduce_bucket_size"}},
    {.name = "deepspeed-3", .options = DeepSpeedOptions{.stage = 3}, .family = Family::kDeepSpeed,
     .takes_reduce_type = true,
     .offload = {OffloadPlace::kNvme, OffloadPlace::kNvme}, .bucket = {"reduce_bucket_size"}},
    {.name = "megatron", .options = MegatronOptions{}, .family = Family::kMegatron,
     .shards_more = StrategyName::kZero3, .has_groups = true,
     .reduce_option = "grad_reduce_in_fp32", .is_for_transformers = true, .bucket = {"bucket_size"}, .runs_pipelines = true},
});
// clang-format on

[[nodiscard]] constexpr StrategyTraits const& traits_of(StrategyName name) {
  return kStrategies[static_cast<std::size_t>(name)];
}

/// Whether the strategy is proposed to who did not ask for it: some framework runs it as it is, and trains such models
/// with it.
[[nodiscard]] inline bool is_offered(StrategyName name, ModelSpec const& model) {
  auto const& traits = traits_of(name);
  auto const trains = !traits.is_for_transformers || std::holds_alternative<Transformer>(model);
  return trains && traits.family != Family::kTextbook;
}

/// A strategy with what its users choose of it.
class Strategy {
 public:
  /// With the framework's defaults.
  constexpr Strategy(StrategyName name) : options_{traits_of(name).options} {}
  template <class Options>
  requires std::constructible_from<StrategyOptions, Options>
  constexpr Strategy(Options options) : options_{std::move(options)} {}

  [[nodiscard]] constexpr StrategyName name() const {
    for (std::size_t i = 0; i < kStrategies.size(); ++i)
      if (kStrategies[i].options.index() == options_.index() && stage_of(kStrategies[i].options) == stage_of(options_))
        return static_cast<StrategyName>(i);
    TWINSTEP_UNREACHABLE("every stage of every strategy has its row");
  }
  [[nodiscard]] constexpr StrategyTraits const& traits() const { return traits_of(name()); }

  [[nodiscard]] constexpr StrategyOptions const& options() const { return options_; }
  /// The options, if they are of this kind.
  template <class Options>
  [[nodiscard]] constexpr Options const* get_if() const {
    return std::get_if<Options>(&options_);
  }
  template <class Options>
  [[nodiscard]] constexpr Options* get_if() {
    return std::get_if<Options>(&options_);
  }
  /// The options, which are of this kind.
  template <class Options>
  [[nodiscard]] constexpr Options const& get() const {
    return std::get<Options>(options_);
  }
  template <class Options>
  [[nodiscard]] constexpr Options& get() {
    return std::get<Options>(options_);
  }

  /// Another strategy, with these options as far as it has the same.
  [[nodiscard]] constexpr Strategy changed_to(StrategyName name) const {
    auto const to = Strategy{name};
    if (to.options_.index() != options_.index()) return to;
    auto changed = *this;
    std::visit(
        [stage = stage_of(to.options_)](auto& options) {
          if constexpr (requires { options.stage; }) options.stage = stage;
        },
        changed.options_);
    return changed;
  }

  constexpr bool operator==(Strategy const&) const = default;
  /// Whether it is this one, whatever its options.
  friend constexpr bool operator==(Strategy const& strategy, StrategyName name) { return strategy.name() == name; }
  friend constexpr std::string_view name_of(Strategy const& strategy) { return strategy.traits().name; }

 private:
  [[nodiscard]] static constexpr int stage_of(StrategyOptions const& options) {
    return std::visit(
        [](auto const& each) {
          if constexpr (requires { each.stage; }) return each.stage;
          return 0;
        },
        options);
  }

  StrategyOptions options_;
};

}  // namespace twinstep::strategies

namespace twinstep {
template <>
struct EnumNames<strategies::StrategyName> {
  static constexpr auto values = [] {
    auto names = std::array<std::string_view, strategies::kStrategies.size()>{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = strategies::kStrategies[i].name;
    return names;
  }();
};
template <>
struct EnumNames<strategies::OffloadPlace> {
  static constexpr std::array<std::string_view, 3> values{"none", "cpu", "nvme"};
};
}  // namespace twinstep
