#include "strategies/plan/read_training.hpp"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

/// One of `types`; `what` is what is held in them.
DataType read_type(io::Node const& node, std::span<DataType const> types, std::string_view what) {
  auto known = std::vector<std::string_view>{};
  for (auto const type : types) {
    if (node.string() == name_of(type)) return type;
    known.push_back(name_of(type));
  }
  auto const is_type = find_enum<DataType>(node.string()).has_value();
  node.fail(fmt::format("found {}{}, expected one of {}", quoted(node.string()),
                        is_type ? fmt::format(", in which {}", what) : "", fmt::join(known, ", ")),
            is_type ? "choose one of them" : suggest_name(node.string(), known));
}

DataType read_precision(io::Node const& training) {
  constexpr auto kTrainable =
      std::to_array({DataType::kBf16, DataType::kFp16, DataType::kTf32, DataType::kFp32, DataType::kFp64});
  auto const node = training.find("precision");
  return node ? read_type(*node, kTrainable, "parameters and gradients are not held") : DataType::kBf16;
}

void read_parameter_type(io::Node const& training, Plan& plan) {
  constexpr auto kHeld = std::to_array({DataType::kFp32, DataType::kBf16, DataType::kFp16});
  auto const usual = default_parameter_type(plan.strategy, plan.precision);
  plan.parameter_type = usual;
  auto const node = training.find("parameter_type");
  if (!node) return;
  plan.parameter_type = read_type(*node, kHeld, "parameters are not held");
  if (plan.parameter_type == plan.precision || plan.parameter_type == usual) return;
  node->fail(fmt::format("found {} for {} under the precision {}, expected {}", name_of(*plan.parameter_type),
                         name_of(plan.strategy), name_of(plan.precision), name_of(plan.precision)),
             holds_fp32_parameters(plan.strategy) ? "leave it out, or use fp32 under a precision of 16 bits"
                                                  : "leave it out; the optimizer keeps fp32 masters");
}

void read_reduce_type(io::Node const& training, Plan& plan) {
  constexpr auto kOnWire = std::to_array({DataType::kFp32, DataType::kBf16, DataType::kFp16});
  auto const node = training.find("reduce_type");
  if (!node) return;
  switch (plan.strategy) {
    case StrategyName::kFsdp1:
    case StrategyName::kFsdp2:
    case StrategyName::kDeepSpeed1:
    case StrategyName::kDeepSpeed2:
    case StrategyName::kDeepSpeed3: plan.reduce_type = read_type(*node, kOnWire, "gradients are not reduced"); return;
    case StrategyName::kDdp:
      node->fail("found it for ddp, which reduces gradients as they are", "use \"comm_hook\" of the strategy");
    case StrategyName::kMegatron: node->fail("found it for megatron", "use \"grad_reduce_in_fp32\" of the strategy");
    case StrategyName::kNaive:
    case StrategyName::kZero1:
    case StrategyName::kZero2:
    case StrategyName::kZero3: break;
  }
  node->fail(
      fmt::format("found it for {}, which reduces gradients in the precision of compute", name_of(plan.strategy)),
      "leave it out");
}

/// The global batch is micro-batch × accumulation × ranks: two of the first three give the third.
void read_batches(io::Node const& training, Plan& plan) {
  auto const global = training.find("global_batch");
  auto const accumulation = training.find("gradient_accumulation");
  auto const micro = training.find("micro_batch");
  auto const steps = read_size(training, "gradient_accumulation", 1);
  plan.micro_batch = read_size(training, "micro_batch", 1);
  plan.global_batch = read_size(training, "global_batch", plan.micro_batch * plan.ranks * steps);
  if (!global || !accumulation) return;
  auto const at_once = plan.ranks * steps;
  if (!micro && plan.global_batch % at_once == 0) plan.micro_batch = plan.global_batch / at_once;
  if (plan.micro_batch * at_once != plan.global_batch)
    accumulation->fail(fmt::format("found {} micro-batches of {} on {} ranks, expected the global batch of {}", steps,
                                   plan.micro_batch, plan.ranks, plan.global_batch),
                       "leave one of the three out");
}

/// Which kernels the model runs, where frameworks have several.
void read_kernels(io::Node const& training, Plan& plan) {
  plan.flash_attention = read_flag(training, "flash_attention", true);
  if (auto const node = training.find("activation")) plan.activation = node->word<Activation>();
  if (auto const node = training.find("cross_entropy")) plan.cross_entropy = node->word<CrossEntropy>();
  if (auto const node = training.find("norms")) plan.norms = node->word<NormKernels>();
  constexpr auto kLinear = std::to_array({DataType::kFp8});
  auto const linear = training.find("linear_type");
  if (linear) plan.linear_type = read_type(*linear, kLinear, "linear layers do not multiply");
  auto const scaling = training.find("scaling");
  if (scaling && !linear) scaling->fail("found it without \"linear_type\"", "add \"linear_type\": \"fp8\"");
  if (scaling) plan.scaling = scaling->word<Scaling>();
}

}  // namespace

void read_training(io::Node const& training, ModelSpec const& model, Plan& plan) {
  training.allow_only({"sequence_length", "micro_batch", "global_batch", "gradient_accumulation", "precision",
                       "parameter_type", "reduce_type", "optimizer", "clip_gradients", "flash_attention", "activation",
                       "cross_entropy", "norms", "linear_type", "scaling"});
  auto const* transformer = std::get_if<Transformer>(&model);
  auto const longest = transformer != nullptr ? transformer->max_sequence_length : 1;
  plan.sequence_length = read_size(training, "sequence_length", longest);
  if (transformer == nullptr && plan.sequence_length != 1)
    training.at("sequence_length").fail("only a transformer has sequences, other models have samples", "leave it out");
  read_batches(training, plan);
  plan.precision = read_precision(training);
  read_parameter_type(training, plan);
  read_reduce_type(training, plan);
  if (auto const optimizer = training.find("optimizer")) plan.optimizer = optimizer->word<Optimizer>();
  plan.clips_gradients = read_flag(training, "clip_gradients", false);
  read_kernels(training, plan);
}

}  // namespace twinstep::strategies
