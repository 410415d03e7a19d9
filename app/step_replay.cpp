#include "app/step_replay.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "hw_profiles/facts.hpp"
#include "hw_profiles/reader.hpp"
#include "sim/base/input_error.hpp"
#include "strategies/compile.hpp"

namespace twinstep::app {
namespace {

using strategies::Recompute;
using strategies::StrategyName;
using validate::StepRecord;

/// Left by whatever finds that a record cannot be replayed.
struct Impossible {
  std::string reason;
};

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

DataType precision_of(StepRecord const& record) {
  auto const words = lower(record.precision);
  if (has(words, "fp8") || has(words, "float8"))
    throw Impossible{"8-bit precision: which part of the work runs in it is not stated"};
  if (has(words, "bf16")) return DataType::kBf16;
  if (has(words, "fp16")) return DataType::kFp16;
  if (has(words, "fp32")) return DataType::kFp32;
  throw Impossible{"not stated: the precision"};
}

/// Reads one record's words; what it has to guess goes into `replay`.
class PlanReader {
 public:
  PlanReader(StepRecord const& record, StepReplay& replay) : record_{record}, replay_{replay} {}

  strategies::Plan read() {
    auto plan = strategies::Plan{.precision = precision_of(record_)};
    refuse_offload();
    if (!record_.parallelism.data) throw Impossible{"not stated: the data-parallel ranks (\"dp\")"};
    plan.ranks = *record_.parallelism.data;
    plan.sequence_length = *record_.model.sequence_length;
    read_batch(plan);
    plan.recompute = recompute();
    plan.flash_attention = flash_attention();
    plan.strategy = strategy(plan.ranks);
    return plan;
  }

 private:
  void refuse_offload() {
    auto const words = lower(record_.offload);
    if (words.empty() || words.starts_with("none")) return;
    if (!words.starts_with("possible")) throw Impossible{fmt::format("offload: {}", record_.offload)};
    replay_.near_to.emplace_back("without the offload that the source thinks possible");
  }

  void read_batch(strategies::Plan& plan) {
    auto const& [micro, global, accumulation] =
        std::tie(record_.micro_batch, record_.global_batch, record_.accumulation);
    if (!micro) throw Impossible{"not stated: the micro-batch"};
    plan.micro_batch = *micro;
    auto const at_once = *micro * plan.ranks;
    if (!global) {
      plan.global_batch = at_once * accumulation.value_or(1);
      if (!accumulation) replay_.assumed.emplace_back("one micro-batch a step");
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

  Recompute recompute() {
    auto const words = lower(record_.recompute);
    if (words.empty()) replay_.assumed.emplace_back("no recomputation");
    if (words.empty() || words.starts_with("none")) return Recompute::kNone;
    if (words.starts_with("full")) return Recompute::kFull;
    throw Impossible{fmt::format("recomputation: {}", record_.recompute)};
  }

  bool flash_attention() {
    if (!record_.flash_attention) replay_.assumed.emplace_back("fused attention");
    return record_.flash_attention.value_or(true);
  }

  StrategyName strategy(std::int64_t ranks) {
    auto const& parallelism = record_.parallelism;
    if (auto const mode = lower(parallelism.fsdp_mode); !mode.empty()) return fsdp(mode);
    auto const stage = parallelism.zero_stage.value_or(0);
    if (!parallelism.zero_stage && ranks > 1) replay_.assumed.emplace_back("replicas without sharding");
    if (stage > 3) throw Impossible{fmt::format("ZeRO stage {}", stage)};
    auto const group = parallelism.zero1_group.value_or(ranks);
    if (stage == 1 && group != ranks)
      replay_.near_to.push_back(
          fmt::format("optimizer states sharded over all {} ranks for a group of {}", ranks, group));
    return static_cast<StrategyName>(static_cast<int>(StrategyName::kDdp) + static_cast<int>(stage));
  }

  StrategyName fsdp(std::string_view mode) {
    if (has(mode, "hybrid")) throw Impossible{fmt::format("sharding: {}", record_.parallelism.fsdp_mode)};
    if (has(mode, "float8") || has(mode, "fp8")) throw Impossible{"gathers in 8 bits"};
    if (has(mode, "no_shard")) return StrategyName::kDdp;
    auto const keeps_parameters = has(mode, "shard_grad_op");
    replay_.near_to.emplace_back(keeps_parameters ? "FSDP's SHARD_GRAD_OP by zero-2" : "FSDP by zero-3");
    return keeps_parameters ? StrategyName::kZero2 : StrategyName::kZero3;
  }

  StepRecord const& record_;
  StepReplay& replay_;
};

/// The software stack that a record's words mean: the first word that it has decides, eager PyTorch without. (A step
/// program of ours runs on none.)
std::string_view stack_of(StepRecord const& record) {
  struct Word {
    std::string_view word;
    std::string_view stack;
  };
  static constexpr auto kWords = std::to_array<Word>(
      {{"internevo", "internevo"}, {"megatron", "megatron"}, {"nemo", "megatron"}, {"llm.c", "fused"}});
  auto const words = lower(record.stack);
  for (auto const& each : kWords)
    if (has(words, each.word)) return each.stack;
  return record.is_compiled ? "pytorch-compiled" : "pytorch-eager";
}

hardware::Cluster machine_of(StepRecord const& record, std::optional<hardware::Cluster> const& named,
                             strategies::Plan const& plan) {
  if (!named && !record.cluster) throw Impossible{"not stated: the \"cluster\" that it ran on"};
  auto cluster = named ? *named : hw_profiles::read_facts(*record.cluster);
  if (named) cluster.nodes = divide_up(plan.ranks, cluster.node.gpus);
  if (plan.ranks > cluster.gpus())
    throw Impossible{fmt::format("{} ranks on a cluster of {} GPUs", plan.ranks, cluster.gpus())};
  if (!cluster.node.gpu.peak(plan.precision))
    throw Impossible{fmt::format("{} has no rate for {}", cluster.node.gpu.name, name_of(plan.precision))};
  if (cluster.stack.name.empty() && !record.is_our_program)
    cluster.stack = hw_profiles::read_stack(io::string_node(std::string{stack_of(record)}, "stack"));
  return cluster;
}

}  // namespace

std::variant<StepReplay, NotReplayed> replay_of(StepRecord const& record,
                                                std::optional<hardware::Cluster> const& named) try {
  if (!record.problem.empty()) return NotReplayed{"not readable: " + record.problem};
  refuse_other_parallelism(record);
  auto model = model_of(record.model);
  if (auto const* reason = std::get_if<NotReplayed>(&model)) return *reason;
  auto replay = StepReplay{.model = std::get<strategies::Transformer>(std::move(model))};
  replay.plan = PlanReader{record, replay}.read();
  replay.cluster = machine_of(record, named, replay.plan);
  return replay;
} catch (Impossible const& reason) {
  return NotReplayed{reason.reason};
} catch (InputError const& error) {
  return NotReplayed{fmt::format("no such machine: {}", error.what())};
}

}  // namespace twinstep::app
