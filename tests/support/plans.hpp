#pragma once

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "sim/program/step_program.hpp"
#include "strategies/compile.hpp"

namespace twinstep::tests {

/// Compiles a plan that is known to divide.
inline program::StepProgram compiled(strategies::ModelSpec const& model, strategies::Plan const& plan) {
  auto result = strategies::compile(model, plan);
  if (auto const* infeasible = std::get_if<strategies::Infeasible>(&result))
    throw std::runtime_error{"test plan is infeasible: " + infeasible->reason};
  return std::get<program::StepProgram>(std::move(result));
}

/// Of a buffer whose size is the same on every rank.
inline double bytes_of(program::Buffer const& buffer) {
  return static_cast<double>((size_of(buffer.type) * buffer.elements.base).count());
}

/// LLaMA-2-7B: hidden 4096, 32 layers, 32 heads, feed-forward 11008, vocabulary 32000.
inline strategies::Transformer llama_2_7b() {
  return {.name = "llama-2-7b",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 32,
          .head_size = 128,
          .ffn = 11008,
          .vocabulary = 32000,
          .max_sequence_length = 4096};
}

/// LLaMA-2-70B: hidden 8192, 80 layers, 64 heads that share 8 keys and values, feed-forward 28672.
inline strategies::Transformer llama_2_70b() {
  return {.name = "llama-2-70b",
          .layers = 80,
          .hidden = 8192,
          .heads = 64,
          .kv_heads = 8,
          .head_size = 128,
          .ffn = 28672,
          .vocabulary = 32000,
          .max_sequence_length = 4096};
}

/// A Llama of two small layers with grouped queries.
inline strategies::Transformer tiny_llama() {
  return {.name = "tiny-llama",
          .layers = 2,
          .hidden = 64,
          .heads = 4,
          .kv_heads = 2,
          .head_size = 16,
          .ffn = 96,
          .vocabulary = 101,
          .max_sequence_length = 32};
}

/// A GPT-2 of three small layers, its embedding shared with the head.
inline strategies::Transformer tiny_gpt2() {
  return {.name = "tiny-gpt2",
          .layers = 3,
          .hidden = 48,
          .heads = 4,
          .kv_heads = 4,
          .head_size = 12,
          .ffn = 192,
          .vocabulary = 97,
          .positions = 32,
          .max_sequence_length = 32,
          .norm = strategies::Norm::kLayer,
          .gated_mlp = false,
          .fused_qkv = true,
          .qkv_bias = true,
          .attention_output_bias = true,
          .mlp_bias = true,
          .tied_embeddings = true,
          .dropout = true};
}

/// So small that it trains on data in no time: two layers with grouped queries, a gate, RMS norms and rotary positions.
inline strategies::Transformer small_llama() {
  return {.name = "small-llama",
          .layers = 2,
          .hidden = 16,
          .heads = 4,
          .kv_heads = 2,
          .head_size = 4,
          .ffn = 24,
          .vocabulary = 32,
          .max_sequence_length = 8};
}

/// As small: two layers with layer norms, biases, a GELU, learned positions and one matrix for embedding and head.
inline strategies::Transformer small_gpt() {
  return {.name = "small-gpt",
          .layers = 2,
          .hidden = 16,
          .heads = 4,
          .kv_heads = 4,
          .head_size = 4,
          .ffn = 32,
          .vocabulary = 32,
          .positions = 10,
          .max_sequence_length = 8,
          .norm = strategies::Norm::kLayer,
          .gated_mlp = false,
          .fused_qkv = true,
          .qkv_bias = true,
          .attention_output_bias = true,
          .mlp_bias = true,
          .tied_embeddings = true};
}

/// Four layers whose sizes divide by nothing convenient.
inline strategies::Mlp odd_mlp() {
  return {.name = "odd-mlp", .widths = {7, 11, 13, 5, 3}};
}

inline constexpr strategies::StrategyName kAllStrategies[] = {
    strategies::StrategyName::kNaive, strategies::StrategyName::kDdp,   strategies::StrategyName::kZero1,
    strategies::StrategyName::kZero2, strategies::StrategyName::kZero3, strategies::StrategyName::kMegatron};

/// With buckets so small that a small model has several.
inline strategies::Strategy with_buckets(strategies::Strategy strategy, Bytes bucket, Bytes first) {
  auto const set = [&](auto* options) {
    if (options != nullptr) std::tie(options->bucket, options->first_bucket) = std::pair{bucket, first};
  };
  set(strategy.get_if<strategies::TextbookOptions>());
  set(strategy.get_if<strategies::DdpOptions>());
  return strategy;
}

// The options of a plan's strategy.
inline strategies::DdpOptions& ddp_of(strategies::Plan& plan) {
  return plan.strategy.get<strategies::DdpOptions>();
}
inline strategies::Fsdp1Options& fsdp1_of(strategies::Plan& plan) {
  return plan.strategy.get<strategies::Fsdp1Options>();
}
inline strategies::Fsdp2Options& fsdp2_of(strategies::Plan& plan) {
  return plan.strategy.get<strategies::Fsdp2Options>();
}
inline strategies::DeepSpeedOptions& deepspeed_of(strategies::Plan& plan) {
  return plan.strategy.get<strategies::DeepSpeedOptions>();
}

/// Mixed precision as users of FSDP have it: bf16 compute and gathers, fp32 parameters, fp32 reductions.
inline strategies::Plan fsdp_plan(strategies::StrategyName name, std::int64_t ranks, std::int64_t micro_batches = 1) {
  return {.strategy = name,
          .parallel = {.data = ranks},
          .batch = {.micro_batch = 2, .global_batch = 2 * ranks * micro_batches},
          .kernels = {.precision = DataType::kBf16},
          .states = {.parameter_type = DataType::kFp32, .reduce_type = DataType::kFp32}};
}

}  // namespace twinstep::tests
