#include "strategies/plan/read_plan.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

constexpr std::int64_t kMostSequences = std::int64_t{1} << 31;
constexpr std::int64_t kMostUnits = 125'000;  ///< that a rank runs in a step: seconds and gigabytes to simulate
constexpr double kMostActivations = 1e15;     ///< numbers that one rank could keep: a thousand times what any GPU holds

DataType read_precision(io::Node const& training) {
  constexpr auto kTrainable =
      std::to_array({DataType::kBf16, DataType::kFp16, DataType::kTf32, DataType::kFp32, DataType::kFp64});
  auto const node = training.find("precision");
  if (!node) return DataType::kBf16;
  auto known = std::vector<std::string_view>{};
  for (auto const type : kTrainable) {
    if (node->string() == name_of(type)) return type;
    known.push_back(name_of(type));
  }
  auto const is_type = find_enum<DataType>(node->string()).has_value();
  node->fail(fmt::format("found {}{}, expected one of {}", quoted(node->string()),
                         is_type ? ", in which parameters and gradients are not held" : "", fmt::join(known, ", ")),
             is_type ? "choose one of them" : suggest_name(node->string(), known));
}

/// Layers and, in a transformer, embedding and head.
std::int64_t units_of(Transformer const& model) {
  return model.layers + 2;
}

std::int64_t units_of(Mlp const& model) {
  return model.layers();
}

std::int64_t units_of(Cnn const& model) {
  auto units = std::int64_t{2};
  for (auto const& stage : model.stages) units += stage.blocks;
  return units;
}

/// Widest tensor of a unit, in numbers a token; without flash attention that may be a row of scores for each head.
double widest(Transformer const& model, Plan const& plan) {
  auto const width = std::max({model.hidden, model.query_width(), 2 * model.ffn, model.vocabulary});
  auto const scores = static_cast<double>(model.heads) * static_cast<double>(plan.sequence_length);
  return std::max(static_cast<double>(width), plan.flash_attention ? 0.0 : scores);
}

double widest(Mlp const& model, Plan const&) {
  return static_cast<double>(std::ranges::max(model.widths));
}

double widest(Cnn const& model, Plan const&) {
  auto outputs = std::int64_t{0};
  for (auto const& block : blocks_of(model))
    for (auto const& convolution : block.path) outputs = std::max(outputs, convolution.outputs());
  return static_cast<double>(outputs);
}

/// What a step would hold and run stays in what counters hold and what can be simulated.
void check_size(io::Node const& training, ModelSpec const& model, Plan const& plan) {
  auto const fail = [&](std::string_view key, std::string const& found, std::string_view way_out) {
    training.find(key).value_or(training).fail(found, way_out);
  };
  auto const units = std::visit([](auto const& each) { return units_of(each); }, model);
  auto const activations = static_cast<double>(plan.micro_batch) * static_cast<double>(plan.sequence_length) *
                           static_cast<double>(units) *
                           std::visit([&](auto const& each) { return widest(each, plan); }, model);
  if (activations > kMostActivations)
    fail("micro_batch",
         fmt::format("found a micro-batch with about {:.1g} activations, expected at most {:.0g}", activations,
                     kMostActivations),
         "lower micro_batch or sequence_length");
  if (plan.global_batch > kMostSequences)
    fail("micro_batch",
         fmt::format("found {} on each of {} ranks, expected a global batch of at most {}", plan.micro_batch,
                     plan.ranks, kMostSequences),
         "lower micro_batch");
  if (auto const steps = std::max(accumulation(plan), std::int64_t{1}); steps > 1 && steps > kMostUnits / units)
    fail("global_batch",
         fmt::format("found {} micro-batches of {} units on each rank, expected at most {} units in all", steps, units,
                     kMostUnits),
         "lower global_batch, or raise micro_batch or the ranks");
}

void read_training(io::Node const& training, ModelSpec const& model, Plan& plan) {
  training.allow_only({"sequence_length", "micro_batch", "global_batch", "precision", "optimizer", "flash_attention"});
  auto const* transformer = std::get_if<Transformer>(&model);
  auto const longest = transformer != nullptr ? transformer->max_sequence_length : 1;
  plan.sequence_length = read_size(training, "sequence_length", longest);
  if (transformer == nullptr && plan.sequence_length != 1)
    training.at("sequence_length").fail(fmt::format("{} has samples, not sequences", model_name(model)), "leave it out");
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
  check_size(training, model, plan);
  return plan;
}

}  // namespace twinstep::strategies
