#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "validate/study/step_replay.hpp"

namespace twinstep::study {
namespace {

using namespace explore;

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

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [text](std::string_view part) { return has(text, part); });
}

/// The first number in `text`: 2 in "every 2nd layer".
std::optional<std::int64_t> number_in(std::string_view text) {
  auto const digit = std::ranges::find_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (digit == text.end()) return std::nullopt;
  auto number = std::int64_t{};
  std::from_chars(std::to_address(digit), text.data() + text.size(), number);
  return number;
}

void refuse_other_parallelism(StepRecord const& record) {
  auto const& parallelism = record.parallelism;
  auto const degrees = {std::pair{parallelism.context, "context"}, std::pair{parallelism.expert, "expert"}};
  for (auto const& [degree, name] : degrees)
    if (degree > 1) throw Impossible{fmt::format("{} parallelism: {}", name, degree)};
}

/// Reads one record's words; what it has to guess goes into `out_`.
class PlanReader {
 public:
  explicit PlanReader(StepRecord const& record) : record_{record}, software_{software_of(record)} {}

  StepPlan read() {
    auto& plan = out_.plan;
    if (!record_.parallelism.data) throw Impossible{"not stated: the data-parallel ranks (\"dp\")"};
    plan.parallel.data = *record_.parallelism.data;
    plan.batch.sequence_length = record_.model.sequence_length.value_or(1);
    read_precision();
    read_batch();
    read_recompute();
    plan.kernels.flash_attention = flash_attention();
    plan.states.optimizer = optimizer();
    plan.kernels.cross_entropy = software_.cross_entropy;
    plan.kernels.activation = software_.activation;
    plan.strategy = strategy();
    read_mesh();
    read_offload();
    read_sharding();
    return std::move(out_);
  }

 private:
  /// DeepSpeed moves the optimizer, at stage 3 parameters too; FSDP moves both together, to the CPU alone.
  void read_offload() {
    using enum strategies::OffloadPlace;
    auto const words = lower(record_.offload);
    if (words.empty() || words.starts_with("none")) return;
    if (words.starts_with("possible")) {
      out_.near_to.emplace_back("without the offload that the source thinks possible");
      return;
    }
    auto const limits = out_.plan.strategy.traits().offload;
    auto const place = has(words, "nvme") ? kNvme : kCpu;
    auto const has_parameters = has(words, "param");
    auto const does = limits.moves_both ? has_parameters && place <= limits.parameters
                                        : has(words, "opt") && place <= limits.optimizer &&
                                              (!has_parameters || place <= limits.parameters);
    if (!does) throw Impossible{fmt::format("offload: {}", record_.offload)};
    out_.plan.states.offload.optimizer = place;
    if (has_parameters) out_.plan.states.offload.parameters = place;
  }

  /// Tensor ranks and stages, as the framework runs them where the record does not say.
  void read_mesh() {
    auto const& parallelism = record_.parallelism;
    auto& parallel = out_.plan.parallel;
    parallel.tensor = parallelism.tensor;
    parallel.pipeline.stages = parallelism.pipeline;
    if (parallel.model_ranks() == 1) return;
    if (!record_.model.kind.empty()) throw Impossible{"tensor or pipeline ranks of a model that is no transformer"};
    auto const is_torch = out_.plan.strategy.traits().family == strategies::Family::kTorch;
    parallel.sequence = parallel.tensor > 1 && parallelism.sequence.value_or(is_torch);
    if (parallel.pipeline.stages > 1) read_pipeline(parallel.pipeline);
    if (auto* const megatron = out_.plan.strategy.get_if<strategies::MegatronOptions>()) {
      megatron->use_distributed_optimizer = parallelism.zero_stage.value_or(0) == 1;
      megatron->overlap_grad_reduce = record_.overlaps_reduction.value_or(megatron->use_distributed_optimizer);
      megatron->overlap_param_gather = record_.overlaps_gather.value_or(megatron->overlap_grad_reduce);
    }
  }

  void read_pipeline(strategies::Pipeline& pipeline) {
    using enum strategies::PipelineSchedule;
    auto const& parallelism = record_.parallelism;
    if (!parallelism.layout.empty()) throw Impossible{fmt::format("layout of stages: {}", parallelism.layout)};
    if (!out_.plan.strategy.traits().runs_pipelines)
      throw Impossible{fmt::format("a pipeline of {}", name_of(out_.plan.strategy))};
    auto const words = lower(parallelism.schedule);
    pipeline.chunks = parallelism.chunks.value_or(1);
    if (has(words, "zbv"))
      pipeline.schedule = kZeroBubbleV;
    else if (has(words, "dualpipe"))
      pipeline.schedule = kDualPipeV;
    else if (has(words, "zero") || has(words, "zb"))
      pipeline.schedule = kInterleavedZeroBubble;
    else if (pipeline.chunks > 1)
      pipeline.schedule = kInterleaved;
    else if (has(words, "gpipe"))
      pipeline.schedule = kGpipe;
    if (is_v_shaped(pipeline.schedule)) pipeline.chunks = 2;
    auto const family = out_.plan.strategy.traits().family;
    if (family != strategies::Family::kTorch) pipeline.group = pipeline.stages;
    pipeline.exchange = usual_exchange(family, pipeline);
    if (has(words, "deepspeed")) pipeline.exchange = strategies::PipelineExchange::kBlocking;
    pipeline.counts_embedding = pipeline.counts_head =
        parallelism.counts_embedding_and_head || family == strategies::Family::kTorch;
  }

  void read_precision() {
    auto const words = lower(record_.precision);
    auto const is_8_bit = has_any(words, {"fp8", "float8", "mxfp8"});
    out_.plan.kernels.precision = is_8_bit ? DataType::kBf16 : precision(words);
    if (is_8_bit) {  // the linear layers of blocks; attention and head stay in 16 bits
      out_.plan.kernels.linear_type = DataType::kFp8;
      out_.plan.kernels.scaling = scaling(words);
    }
    out_.plan.states.reduce_type = has(words, "fp32 reduce") ? DataType::kFp32 : software_.reduce_type;
  }

  /// The type of compute; "mixed" and "amp" alone are what they were named for first.
  static DataType precision(std::string_view words) {
    if (has_any(words, {"bf16", "bfloat16"})) return DataType::kBf16;
    if (has_any(words, {"fp16", "float16", "half"})) return DataType::kFp16;
    if (has_any(words, {"fp32", "float32", "single", "tf32"})) return DataType::kFp32;
    if (has_any(words, {"mixed", "amp"})) return DataType::kFp16;
    throw Impossible{"not stated: the precision"};
  }

  /// By the recipe's words: TransformerEngine's "CS" scales by the present tensor, "MX" by blocks, in one pass.
  strategies::Scaling scaling(std::string_view words) const {
    using enum strategies::Scaling;
    if (has(words, "rowwise")) return kRowWise;
    if (has(words, "fp8-cs")) return kCurrent;
    if (has(words, "fp8-mx") || has(words, "te ") || has(words, "transformerengine")) return kDelayed;
    return software_.scaling;
  }

  void read_batch() {
    auto& plan = out_.plan;
    auto const& [micro, global, accumulation] =
        std::tie(record_.micro_batch, record_.global_batch, record_.accumulation);
    plan.batch.micro_batch = micro ? *micro : assumed_micro_batch();
    auto const at_once = plan.batch.micro_batch * plan.parallel.data;
    if (!global) {
      plan.batch.global_batch = at_once * accumulation.value_or(1);
      if (!accumulation) out_.assumed.emplace_back("one micro-batch a step");
      return;
    }
    plan.batch.global_batch = *global;
    if (accumulation && at_once * *accumulation != *global)
      throw Impossible{fmt::format("contradictory batch: micro-batch {} on {} ranks, {} times, is not {}",
                                   plan.batch.micro_batch, plan.parallel.data, *accumulation, *global)};
    if (*global % at_once != 0)
      throw Impossible{fmt::format("contradictory batch: {} does not divide into micro-batches of {} on {} ranks",
                                   *global, plan.batch.micro_batch, plan.parallel.data)};
  }

  /// The batch of a rank for each accumulation step, or the largest part of it that does not exceed four sequences: the
  /// time of a token hardly depends on it once products fill the GPU.
  std::int64_t assumed_micro_batch() {
    constexpr auto kMost = std::int64_t{4};
    auto const& global = record_.global_batch;
    if (!global || *global % out_.plan.parallel.data != 0) throw Impossible{"not stated: the micro-batch"};
    auto const of_rank = *global / out_.plan.parallel.data;
    if (record_.accumulation && of_rank % *record_.accumulation == 0) return of_rank / *record_.accumulation;
    auto micro = of_rank;
    while (micro > kMost || of_rank % micro != 0) --micro;
    out_.assumed.push_back(fmt::format("micro-batches of {}", micro));
    return micro;
  }

  void read_recompute() {
    auto& plan = out_.plan;
    auto const words = lower(record_.recompute);
    if (words.empty()) out_.assumed.emplace_back("no recomputation");
    if (words.empty() || has_any(words, {"none", "false"}) || words == "no") return;
    if (has_any(words, {"per-op", "per op", "selective op", "selective-op"})) {
      plan.kernels.recompute = Recompute::kPerOp;
    } else if (auto const every = number_in(words); every && has(words, "every")) {
      plan.kernels.recompute = Recompute::kFull;
      plan.kernels.recompute_scope.every = *every;
    } else if (words == "selective" || words == "selective + sp" ||
               (has(words, "selective") && has_any(words, {"attention", "core"}))) {
      plan.kernels.recompute = Recompute::kSelective;
    } else if (!has(words, "selective") && has_any(words, {"full", "true", "yes", "per block", "per layer"})) {
      plan.kernels.recompute = Recompute::kFull;
    } else {
      throw Impossible{fmt::format("recomputation: {}", record_.recompute)};
    }
  }

  bool flash_attention() {
    auto const has_attention = record_.model.kind.empty();
    if (!record_.flash_attention && has_attention) out_.assumed.emplace_back("fused attention");
    return record_.flash_attention.value_or(true);
  }

  Optimizer optimizer() {
    auto const words = lower(record_.optimizer);
    if (!words.empty() && !has_any(words, {"adam", "sgd", "script"}))
      out_.near_to.push_back(fmt::format("{} by AdamW", record_.optimizer));
    if (has(words, "sgd")) return Optimizer::kSgdMomentum;
    if (has(words, "8-bit") || has(words, "8bit")) return Optimizer::kAdamW8Bit;
    return has(words, "fused") ? Optimizer::kAdamWFused : software_.optimizer;
  }

  strategies::Strategy strategy() {
    auto const& parallelism = record_.parallelism;
    if (auto const mode = lower(parallelism.fsdp_mode); !mode.empty())
      return has_any(mode, {"fsdp2", "fully_shard"}) ? StrategyName::kFsdp2 : StrategyName::kFsdp1;
    auto const stage = parallelism.zero_stage.value_or(0);
    if (!parallelism.zero_stage && out_.plan.parallel.data > 1) out_.assumed.emplace_back("replicas without sharding");
    if (stage > 3) throw Impossible{fmt::format("ZeRO stage {}", stage)};
    using enum Software::Framework;
    auto const has_mesh = parallelism.tensor * parallelism.pipeline > 1;
    if (software_.framework == kMegatron && has_mesh && stage < 2) return StrategyName::kMegatron;
    if (stage == 0) return replicas();
    auto const number = static_cast<int>(stage);
    if (software_.framework == kDeepSpeed) return strategies::DeepSpeedOptions{.stage = number};
    if (software_.framework == kMegatron && stage == 1) return StrategyName::kMegatron;
    return strategies::TextbookOptions{.stage = number};
  }

  strategies::Strategy replicas() {
    auto const& [ddp, cap] = std::tie(record_.parallelism.ddp, record_.parallelism.bucket_cap_mb);
    if (ddp.empty()) return StrategyName::kDdp;
    if (!cap && out_.plan.parallel.data == 1) return StrategyName::kNaive;  // one replica without a wrapper
    return strategies::DdpOptions{.bucket = cap ? std::optional{to_bytes(*cap * 1024 * 1024)} : std::nullopt};
  }

  /// What follows from the strategy: FSDP and DDP hold fp32 parameters under autocast and mixed precision.
  void read_sharding() {
    auto& plan = out_.plan;
    auto const holds_16_bit = has(lower(record_.precision), "true");
    if (!holds_16_bit) plan.states.parameter_type = default_parameter_type(plan.strategy, plan.kernels.precision);
    if (plan.strategy == StrategyName::kZero1) {
      auto const group = record_.parallelism.zero1_group.value_or(plan.parallel.data);
      if (group != plan.parallel.data) plan.parallel.shard_group = group;
    }
    auto const mode = lower(record_.parallelism.fsdp_mode);
    auto const is_hybrid = has_any(mode, {"hybrid", "hsdp"});
    if (is_hybrid) plan.parallel.shard_group = ranks_of_a_node();
    auto* const fsdp1 = plan.strategy.get_if<strategies::Fsdp1Options>();
    if (fsdp1 == nullptr) return;
    if (software_.framework == Software::Framework::kZeroGroups) return read_internevo_fsdp(*fsdp1);
    using enum strategies::Fsdp1Options::Sharding;
    if (is_hybrid) fsdp1->sharding = has(mode, "zero2") ? kHybridShardZero2 : kHybridShard;
    if (has(mode, "no_shard")) fsdp1->sharding = kNoShard;
    if (has(mode, "shard_grad_op")) fsdp1->sharding = kShardGradOp;
  }

  /// PyTorch shards within nodes where no group is given.
  std::int64_t ranks_of_a_node() const {
    auto const gpus = record_.cluster ? record_.cluster->find("gpus_per_node") : std::nullopt;
    auto const node = gpus ? gpus->integer_from(1) : 0;
    if (node == 0 || (out_.plan.parallel.data > node && out_.plan.parallel.data % node != 0))
      throw Impossible{fmt::format("not stated: the ranks that share states ({})", record_.parallelism.fsdp_mode)};
    return std::min(node, out_.plan.parallel.data);
  }

  /// InternEvo wraps a model of 16-bit parameters, each of its modules apart, and keeps masters in an optimizer of its
  /// own, which clips: internlm/train/training_internlm.py, wrap_FSDP_model; solver/optimizer/fsdp_optimizer.py.
  void read_internevo_fsdp(strategies::Fsdp1Options& fsdp1) {
    auto& states = out_.plan.states;
    states.parameter_type.reset();
    states.master_type = DataType::kFp32;
    fsdp1.forward_prefetch = true;
    fsdp1.shards_root = false;
    states.clips_gradients = true;
    states.has_old_foreach = true;  // initialize/launch.py asks for PyTorch 2.0.1
  }

  StepRecord const& record_;
  Software software_;
  StepPlan out_;
};

}  // namespace

Software software_of(StepRecord const& record) {
  return explore::software_of(lower(record.stack.empty() ? record.family : record.stack), record.is_compiled);
}

StepPlan plan_of(StepRecord const& record) {
  refuse_other_parallelism(record);
  return PlanReader{record}.read();
}

}  // namespace twinstep::study
