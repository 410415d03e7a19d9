#include "explore/ask/software.hpp"

#include <array>

#include <fmt/format.h>

#include "hw_profiles/reader.hpp"

namespace twinstep::explore {
namespace {

constexpr std::string_view kDeepSpeedStack = "deepspeed";
constexpr std::string_view kMegatronStack = "megatron";
constexpr std::string_view kMegatronCoreStack = "megatron-core";
constexpr std::string_view kPyTorchStack = "pytorch-eager";

}  // namespace

// Not Megatron-Core's for Megatron-LM, so that frameworks are compared with one attention kernel; and not DeepSpeed's,
// whose kernels are of 2022: it would tell frameworks apart by their age.
std::string_view stack_of(strategies::StrategyName strategy) {
  return traits_of(strategy).family == strategies::Family::kMegatron ? kMegatronStack : kPyTorchStack;
}

hardware::Cluster with_software(hardware::Cluster cluster, strategies::StrategyName strategy) {
  auto const is_named = !cluster.stack.name.empty();
  if (!is_named) cluster.stack = hw_profiles::read_stack(io::string_node(std::string{stack_of(strategy)}, "stack"));
  cluster.calibration += fmt::format("; software: {}, {}", cluster.stack.name,
                                     is_named ? "as \"cluster.stack\" says" : "that of the strategy's framework");
  return cluster;
}

Software software_of(std::string_view words, bool is_compiled) {
  struct Word {
    std::string_view word;
    Software software;
  };
  using strategies::Activation;
  using strategies::Optimizer;
  using strategies::Scaling;
  using enum Software::Framework;
  using enum Software::Memory;
  // TransformerEngine's kernels for the gate, and its casts.
  constexpr auto kMegatronCore = Software{.stack = kMegatronCoreStack,
                                          .framework = kMegatron,
                                          .optimizer = Optimizer::kAdamWFused,
                                          .activation = Activation::kFused,
                                          .scaling = Scaling::kDelayed};
  static constexpr auto kWords =
      std::to_array<Word>({{"internevo", {.stack = "internevo", .framework = kZeroGroups, .memory = kDevice}},
                           {"deepspeed", {kDeepSpeedStack, kDeepSpeed, Optimizer::kAdamWFused}},
                           {"megatron-core", kMegatronCore},
                           {"megatron-bridge", kMegatronCore},
                           {"nemo", kMegatronCore},
                           {"megatron", {kMegatronStack, kMegatron, Optimizer::kAdamWFused}},
                           {"llm.c", {"fused", kAny, Optimizer::kAdamWFused}}});
  auto const has = [words](std::string_view word) { return words.find(word) != std::string_view::npos; };
  for (auto const& [word, software] : kWords)
    if (has(word)) return software;
  auto pytorch = Software{is_compiled ? "pytorch-compiled" : kPyTorchStack};
  if (is_compiled) pytorch.activation = Activation::kFused;
  if (has("composer")) {
    // llm-foundry, llmfoundry/models/mpt/modeling_mpt.py: loss_fn is "fused_crossentropy"; its 8 bits are
    // TransformerEngine's.
    if (!is_compiled) pytorch.stack = "composer";
    pytorch.cross_entropy = strategies::CrossEntropy::kFused;
    pytorch.scaling = Scaling::kDelayed;
  }
  if (has("torchtitan")) {
    pytorch.memory = kReserved;             // torchtitan/metrics.py: "reserved_bytes.all.peak"
    pytorch.reduce_type = DataType::kFp32;  // torchtitan/config_manager.py: mixed_precision_reduce
  }
  return pytorch;
}

}  // namespace twinstep::explore
