#include "strategies/plan/read_plan.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

DataType read_precision(io::Node const& training) {
  auto const node = training.find("precision");
  if (!node) return DataType::kBf16;
  auto const precision = node->word<DataType>();
  if (precision == DataType::kInt8 || precision == DataType::kInt32 || precision == DataType::kFp8)
    node->fail(fmt::format("parameters and gradients are not held in {}", name_of(precision)),
               "use bf16, fp16, tf32, fp32 or fp64");
  return precision;
}

void read_training(io::Node const& training, ModelSpec const& model, Plan& plan) {
  training.allow_only({"sequence_length", "micro_batch", "global_batch", "precision", "optimizer", "flash_attention"});
  auto const* transformer = std::get_if<Transformer>(&model);
  auto const longest = transformer != nullptr ? transformer->max_sequence_length : 1;
  plan.sequence_length = read_size(training, "sequence_length", longest);
  if (transformer == nullptr && plan.sequence_length != 1)
    training.at("sequence_length").fail("an MLP has samples, not sequences", "leave it out");
  plan.micro_batch = read_size(training, "micro_batch", 1);
  plan.global_batch = read_size(training, "global_batch", plan.micro_batch * plan.ranks);
  plan.precision = read_precision(training);
  plan.flash_attention = read_flag(training, "flash_attention", true);
  if (auto const optimizer = training.find("optimizer"); optimizer && optimizer->string() != "adamw-fused")
    optimizer->fail(fmt::format("no optimizer is called {}", quoted(optimizer->string())), "use \"adamw-fused\"");
}

void read_strategy(io::Node const& strategy, std::int64_t gpus, Plan& plan) {
  strategy.allow_only({"name", "recompute", "ranks", "bucket", "first_bucket"});
  plan.strategy = strategy.at("name").word<StrategyName>();
  if (auto const recompute = strategy.find("recompute")) plan.recompute = recompute->word<Recompute>();
  plan.ranks = read_size(strategy, "ranks", gpus);
  if (plan.ranks > gpus)
    strategy.at("ranks").fail(fmt::format("{} ranks need as many GPUs, the cluster has {}", plan.ranks, gpus),
                              fmt::format("use at most {} or more nodes", gpus));
  auto const has_buckets = plan.strategy != StrategyName::kNaive && plan.strategy != StrategyName::kZero3;
  for (auto const* const key : {"bucket", "first_bucket"})
    if (auto const node = strategy.find(key); node && !has_buckets)
      node->fail(fmt::format("{} has no buckets", name_of(plan.strategy)),
                 "leave it out, or use ddp, zero-1 or zero-2");
  if (auto const bucket = strategy.find("bucket")) {
    plan.bucket = bucket->bytes();
    plan.first_bucket = std::min(plan.first_bucket, plan.bucket);
  }
  if (auto const first = strategy.find("first_bucket")) plan.first_bucket = first->bytes();
}

}  // namespace

Plan read_plan(io::Node const& training, io::Node const& strategy, ModelSpec const& model, std::int64_t gpus) {
  auto plan = Plan{};
  read_strategy(strategy, gpus, plan);
  read_training(training, model, plan);
  return plan;
}

}  // namespace twinstep::strategies
