#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "strategies/model/read_model.hpp"
#include "strategies/plan/optimizer_names.hpp"
#include "strategies/plan/read_plan.hpp"

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
  auto const usual = default_parameter_type(plan.strategy, plan.kernels.precision);
  plan.states.parameter_type = usual;
  auto const node = training.find("parameter_type");
  if (!node) return;
  plan.states.parameter_type = read_type(*node, kHeld, "parameters are not held");
  if (plan.states.parameter_type == plan.kernels.precision || plan.states.parameter_type == usual) return;
  node->fail(fmt::format("found {} for {} under the precision {}, expected {}", name_of(*plan.states.parameter_type),
                         name_of(plan.strategy), name_of(plan.kernels.precision), name_of(plan.kernels.precision)),
             plan.strategy.traits().holds_fp32_parameters ? "leave it out, or use fp32 under a precision of 16 bits"
                                                          : "leave it out; the optimizer keeps fp32 masters");
}

void read_master_type(io::Node const& training, Plan& plan) {
  constexpr auto kMasters = std::to_array({DataType::kFp32, DataType::kBf16, DataType::kFp16});
  auto const node = training.find("master_type");
  if (!node) return;
  plan.states.master_type = read_type(*node, kMasters, "masters are not held");
  auto const held = held_type(plan);
  if (plan.states.master_type == DataType::kFp32 || plan.states.master_type == held) return;
  node->fail(
      fmt::format("found {} for parameters that are held in {}", name_of(*plan.states.master_type), name_of(held)),
      fmt::format("use fp32, or {} for no masters", name_of(held)));
}

void read_reduce_type(io::Node const& training, Plan& plan) {
  constexpr auto kOnWire = std::to_array({DataType::kFp32, DataType::kBf16, DataType::kFp16});
  auto const node = training.find("reduce_type");
  if (!node) return;
  auto const& traits = plan.strategy.traits();
  if (traits.takes_reduce_type) {
    plan.states.reduce_type = read_type(*node, kOnWire, "gradients are not reduced");
    return;
  }
  node->fail(fmt::format("found it for {}{}{}", traits.name, traits.reduces.empty() ? "" : ", which reduces gradients ",
                         traits.reduces),
             traits.reduce_option.empty() ? "leave it out"
                                          : fmt::format("use {} of the strategy", quoted(traits.reduce_option)));
}

/// The global batch is micro-batch × accumulation × ranks: two of the first three give the third.
void read_batches(io::Node const& training, Plan& plan) {
  auto const global = training.find("global_batch");
  auto const accumulation = training.find("gradient_accumulation");
  auto const micro = training.find("micro_batch");
  auto const steps = read_size(training, "gradient_accumulation", 1);
  plan.batch.micro_batch = read_size(training, "micro_batch", 1);
  plan.batch.global_batch = read_size(training, "global_batch", plan.batch.micro_batch * plan.parallel.data * steps);
  if (!global || !accumulation) return;
  auto const at_once = plan.parallel.data * steps;
  if (!micro && plan.batch.global_batch % at_once == 0) plan.batch.micro_batch = plan.batch.global_batch / at_once;
  if (plan.batch.micro_batch * at_once != plan.batch.global_batch)
    accumulation->fail(fmt::format("found {} micro-batches of {} on {} ranks, expected the global batch of {}", steps,
                                   plan.batch.micro_batch, plan.parallel.data, plan.batch.global_batch),
                       "leave one of the three out");
}

/// Which kernels the model runs, where frameworks have several.
void read_kernels(io::Node const& training, Plan& plan) {
  plan.kernels.flash_attention = read_flag(training, "flash_attention", true);
  if (auto const node = training.find("activation")) plan.kernels.activation = node->word<Activation>();
  if (auto const node = training.find("cross_entropy")) plan.kernels.cross_entropy = node->word<CrossEntropy>();
  if (auto const node = training.find("norms")) plan.kernels.norms = node->word<NormKernels>();
  constexpr auto kLinear = std::to_array({DataType::kFp8});
  auto const linear = training.find("linear_type");
  if (linear) plan.kernels.linear_type = read_type(*linear, kLinear, "linear layers do not multiply");
  auto const scaling = training.find("scaling");
  if (scaling && !linear) scaling->fail("found it without \"linear_type\"", "add \"linear_type\": \"fp8\"");
  if (scaling) plan.kernels.scaling = scaling->word<Scaling>();
}

}  // namespace

void read_training(io::Node const& training, ModelSpec const& model, Plan& plan) {
  training.allow_only({"sequence_length", "micro_batch", "global_batch", "gradient_accumulation", "precision",
                       "parameter_type", "master_type", "reduce_type", "optimizer", "clip_gradients", "flash_attention",
                       "activation", "cross_entropy", "norms", "linear_type", "scaling"});
  auto const* transformer = std::get_if<Transformer>(&model);
  auto const longest = transformer != nullptr ? transformer->max_sequence_length : 1;
  plan.batch.sequence_length = read_size(training, "sequence_length", longest);
  if (transformer == nullptr && plan.batch.sequence_length != 1)
    training.at("sequence_length").fail("only a transformer has sequences, other models have samples", "leave it out");
  read_batches(training, plan);
  plan.kernels.precision = read_precision(training);
  read_parameter_type(training, plan);
  read_master_type(training, plan);
  read_reduce_type(training, plan);
  if (auto const name = training.find("optimizer")) {
    auto const theirs = optimizer_called(name->string());
    plan.states.optimizer = theirs ? *theirs : name->word<Optimizer>();
  }
  plan.states.clips_gradients = read_flag(training, "clip_gradients", false);
  read_kernels(training, plan);
}

}  // namespace twinstep::strategies
