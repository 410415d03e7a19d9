#include "app/step_plan.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace twinstep::app {
namespace {

using strategies::Optimizer;
using strategies::Plan;
using strategies::Recompute;
using strategies::StrategyName;
using validate::StepRecord;

std::string lower(std::string_view text) {
  auto out = std::string{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void refuse_other_parallelism(StepRecord const& record) {
  auto const& parallelism = record.parallelism;
  auto const degrees = {std::pair{parallelism.tensor, "tensor"}, std::pair{parallelism.pipeline, "pipeline"},
                        std::pair{parallelism.context, "context"}, std::pair{parallelism.expert, "expert"}};
  for (auto const& [degree, name] : degrees)
    if (degree > 1) throw Impossible{fmt::format("{} parallelism: {}", name, degree)};
}

/// Reads one record's words; what it has to guess goes into `out_`.
class PlanReader {
 public:
  explicit PlanReader(StepRecord const& record) : record_{record}, software_{software_of(record)} {}

  StepPlan read() {
    auto& plan = out_.plan;
    refuse_offload();
    if (!record_.parallelism.data) throw Impossible{"not stated: the data-parallel ranks (\"dp\")"};
    plan.ranks = *record_.parallelism.data;
    plan.sequence_length = record_.model.sequence_length.value_or(1);
    read_precision();
    read_batch();
    read_recompute();
    plan.flash_attention = flash_attention();
    plan.optimizer = optimizer();
    plan.cross_entropy = software_.cross_entropy;
    plan.strategy = strategy();
    read_sharding();
    return std::move(out_);
  }

 private:
  void refuse_offload() {
    auto const words = lower(record_.offload);
    if (words.empty() || words.starts_with("none")) return;
    if (!words.starts_with("possible")) throw Impossible{fmt::format("offload: {}", record_.offload)};
    out_.near_to.emplace_back("without the offload that the source thinks possible");
  }

  void read_precision() {
    auto const words = lower(record_.precision);
    auto const is_8_bit = has(words, "fp8") || has(words, "float8");
    if (is_8_bit || has(words, "bf16"))
      out_.plan.precision = DataType::kBf16;
    else if (has(words, "fp16"))
      out_.plan.precision = DataType::kFp16;
    else if (has(words, "fp32"))
      out_.plan.precision = DataType::kFp32;
    else
      throw Impossible{"not stated: the precision"};
    if (is_8_bit) {  // the linear layers of blocks; attention and head stay in 16 bits
      out_.plan.linear_type = DataType::kFp8;
      if (has(words, "rowwise")) out_.plan.scaling = strategies::Scaling::kRowWise;
    }
    out_.plan.reduce_type = has(words, "fp32 reduce") ? DataType::kFp32 : software_.reduce_type;
  }

  void read_batch() {
    auto& plan = out_.plan;
    auto const& [micro, global, accumulation] =
        std::tie(record_.micro_batch, record_.global_batch, record_.accumulation);
    if (!micro) throw Impossible{"not stated: the micro-batch"};
    plan.micro_batch = *micro;
    auto const at_once = *micro * plan.ranks;
    if (!global) {
      plan.global_batch = at_once * accumulation.value_or(1);
      if (!accumulation) out_.assumed.emplace_back("one micro-batch a step");
      return;
    }
    plan.global_batch = *global;
    if (accumulation && at_once * *accumulation != *global)
      throw Impossible{fmt::format("contradictory batch: micro-batch {} on {} ranks, {} times, is not {}", *micro,
                                   plan.ranks, *accumulation, *global)};
    if (*global % at_once != 0)
      throw Impossible{fmt::format("contradictory batch: {} does not divide into micro-batches of {} on {} ranks",
                                   *global, *micro, plan.ranks)};
  }

  void read_recompute() {
    auto& plan = out_.plan;
    auto const words = lower(record_.recompute);
    if (words.empty()) out_.assumed.emplace_back("no recomputation");
    if (words.empty() || words.starts_with("none")) return;
    if (words.starts_with("full")) {
      plan.recompute = Recompute::kFull;
    } else if (has(words, "per-op")) {
      plan.recompute = Recompute::kPerOp;
    } else if (has(words, "every 2nd layer")) {
      plan.recompute = Recompute::kFull;
      plan.recompute_scope.every = 2;
    } else if (words == "selective") {
      plan.recompute = Recompute::kSelective;
    } else {
      throw Impossible{fmt::format("recomputation: {}", record_.recompute)};
    }
  }

  bool flash_attention() {
    auto const has_attention = record_.model.kind.empty();
    if (!record_.flash_attention && has_attention) out_.assumed.emplace_back("fused attention");
    return record_.flash_attention.value_or(true);
  }

  Optimizer optimizer() const {
    auto const words = lower(record_.optimizer);
    if (has(words, "sgd")) return Optimizer::kSgdMomentum;
    if (has(words, "8-bit") || has(words, "8bit")) return Optimizer::kAdamW8Bit;
    return has(words, "fused") ? Optimizer::kAdamWFused : software_.optimizer;
  }

  StrategyName strategy() {
    auto const& parallelism = record_.parallelism;
    if (auto const mode = lower(parallelism.fsdp_mode); !mode.empty())
      return has(mode, "fsdp2") ? StrategyName::kFsdp2 : StrategyName::kFsdp1;
    auto const stage = parallelism.zero_stage.value_or(0);
    if (!parallelism.zero_stage && out_.plan.ranks > 1) out_.assumed.emplace_back("replicas without sharding");
    if (stage > 3) throw Impossible{fmt::format("ZeRO stage {}", stage)};
    using enum Software::Framework;
    if (stage == 0) return replicas();
    if (software_.framework == kDeepSpeed) return offset(StrategyName::kDeepSpeed1, stage - 1);
    if (software_.framework == kMegatron && stage == 1) return StrategyName::kMegatron;
    return offset(StrategyName::kZero1, stage - 1);
  }

  StrategyName replicas() {
    auto const& [ddp, cap] = std::tie(record_.parallelism.ddp, record_.parallelism.bucket_cap_mb);
    if (ddp.empty()) return StrategyName::kDdp;
    if (!cap && out_.plan.ranks == 1) return StrategyName::kNaive;  // one replica without a wrapper
    if (cap) out_.plan.bucket = to_bytes(*cap * 1024 * 1024);
    return StrategyName::kDdp;
  }

  static StrategyName offset(StrategyName first, std::int64_t by) {
    return static_cast<StrategyName>(static_cast<std::int64_t>(first) + by);
  }

  /// What follows from the strategy: FSDP and DDP hold fp32 parameters under autocast and mixed precision.
  void read_sharding() {
    auto& plan = out_.plan;
    auto const is_16_bit = size_of(plan.precision) < size_of(DataType::kFp32);
    auto const holds_16_bit = has(lower(record_.precision), "true");
    auto const is_torch = plan.strategy == StrategyName::kDdp || plan.strategy == StrategyName::kFsdp1 ||
                          plan.strategy == StrategyName::kFsdp2;
    if (is_torch && is_16_bit && !holds_16_bit) plan.parameter_type = DataType::kFp32;
    if (plan.strategy == StrategyName::kZero1) {
      auto const group = record_.parallelism.zero1_group.value_or(plan.ranks);
      if (group != plan.ranks) plan.shard_group = group;
    }
    if (plan.strategy != StrategyName::kFsdp1) return;
    if (software_.framework == Software::Framework::kZeroGroups) return read_internevo_fsdp();
    using enum strategies::FsdpOptions::Sharding;
    auto const mode = lower(record_.parallelism.fsdp_mode);
    if (has(mode, "hybrid")) throw Impossible{fmt::format("sharding: {}", record_.parallelism.fsdp_mode)};
    if (has(mode, "no_shard")) plan.fsdp.sharding = kNoShard;
    if (has(mode, "shard_grad_op")) plan.fsdp.sharding = kShardGradOp;
  }

  /// InternEvo wraps a model of 16-bit parameters, each of its modules apart, and keeps masters in an optimizer of its
  /// own, which clips: internlm/train/training_internlm.py, wrap_FSDP_model; solver/optimizer/fsdp_optimizer.py.
  void read_internevo_fsdp() {
    auto& plan = out_.plan;
    plan.parameter_type.reset();
    plan.fsdp.forward_prefetch = true;
    plan.fsdp.shards_root = false;
    plan.clips_gradients = true;
    plan.has_old_foreach = true;  // initialize/launch.py asks for PyTorch 2.0.1
  }

  StepRecord const& record_;
  Software software_;
  StepPlan out_;
};

}  // namespace

Software software_of(StepRecord const& record) {
  return software_of(lower(record.stack.empty() ? record.family : record.stack), record.is_compiled);
}

StepPlan plan_of(StepRecord const& record) {
  refuse_other_parallelism(record);
  return PlanReader{record}.read();
}

}  // namespace twinstep::app
