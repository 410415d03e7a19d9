#include "app/plan/space.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace twinstep::app::plan {
namespace {

using strategies::Recompute;

/// Divisors of the ranks that a node's GPUs, or whole nodes, make; less than all of them.
std::vector<std::int64_t> group_sizes(std::int64_t ranks, std::int64_t gpus_per_node) {
  auto sizes = std::vector<std::int64_t>{};
  for (std::int64_t size = 2; size < ranks; ++size)
    if (ranks % size == 0 && (size % gpus_per_node == 0 || gpus_per_node % size == 0)) sizes.push_back(size);
  return sizes;
}

class Choices {
 public:
  Choices(std::int64_t ranks, std::int64_t gpus_per_node) : groups_{group_sizes(ranks, gpus_per_node)} {
    add_replicated();
    add_textbook();
    add_fsdp1();
    add_fsdp2();
    add_deepspeed();
    add_grouped(R"("name": "megatron")", R"(, "shard_group": {})");
  }
  [[nodiscard]] std::vector<StrategyChoice> take() && { return std::move(choices_); }

 private:
  void add(std::string options, std::string offload = "") {
    choices_.push_back({std::move(options), std::move(offload)});
  }
  /// Alone and with groups of each size.
  void add_grouped(std::string const& options, fmt::format_string<std::int64_t&> group) {
    add(options);
    add_groups(options, group);
  }
  void add_groups(std::string const& options, fmt::format_string<std::int64_t&> group) {
    for (auto size : groups_) add(options + fmt::format(group, size));
  }

  void add_replicated() {
    add(R"("name": "naive")");
    add(R"("name": "ddp")");
  }
  void add_textbook() {
    add_grouped(R"("name": "zero-1")", R"(, "shard_group": {})");
    add(R"("name": "zero-2")");
    add(R"("name": "zero-3")");
  }
  void add_fsdp1() {
    for (auto const* const sharding : {"FULL_SHARD", "SHARD_GRAD_OP"}) {
      auto const options = fmt::format(R"("name": "fsdp1", "sharding": "{}")", sharding);
      add(options);
      add(options, R"("parameters": "cpu")");
    }
    for (auto const* const sharding : {"HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"})
      add_groups(fmt::format(R"("name": "fsdp1", "sharding": "{}")", sharding), R"(, "shard_group": {})");
  }
  void add_fsdp2() {
    auto const plain = std::string{R"("name": "fsdp2")"};
    add_grouped(plain, R"(, "shard_group": {})");
    add_groups(plain, R"(, "reshard_after_forward": {})");
    add_grouped(plain + R"(, "reshard_after_forward": false)", R"(, "shard_group": {})");
    add(plain, R"("parameters": "cpu")");
  }
  void add_deepspeed() {
    for (auto const* const stage : {"deepspeed-1", "deepspeed-2"}) {
      auto const options = fmt::format(R"("name": "{}")", stage);
      add(options);
      add(options + R"(, "overlap_comm": true)");
      add(options, R"("optimizer": "cpu")");
    }
    auto const stage3 = std::string{R"("name": "deepspeed-3")"};
    add_grouped(stage3, R"(, "zero_hpz_partition_size": {})");
    add(stage3, R"("optimizer": "cpu")");
    add(stage3, R"("optimizer": "cpu", "parameters": "cpu")");
  }

  std::vector<std::int64_t> groups_;
  std::vector<StrategyChoice> choices_;
};

/// `, "recompute": …`; nothing where nothing is recomputed.
std::string recompute_member(WorkChoice const& choice) {
  if (choice.recompute == Recompute::kNone) return {};
  if (choice.every == 1) return fmt::format(R"(, "recompute": "{}")", name_of(choice.recompute));
  return fmt::format(R"(, "recompute": {{"what": "{}", "every": {}}})", name_of(choice.recompute), choice.every);
}

}  // namespace

std::vector<StrategyChoice> strategy_choices(std::int64_t ranks, std::int64_t gpus_per_node) {
  return Choices{ranks, gpus_per_node}.take();
}

std::vector<WorkChoice> work_choices(strategies::ModelSpec const& model, std::int64_t samples) {
  auto recomputations = std::vector<WorkChoice>{{}, {.recompute = Recompute::kFull}};
  if (std::holds_alternative<strategies::Transformer>(model)) {
    recomputations.push_back({.recompute = Recompute::kSelective});
    recomputations.push_back({.recompute = Recompute::kPerOp});
    if (std::get<strategies::Transformer>(model).layers > 1)
      recomputations.push_back({.recompute = Recompute::kFull, .every = 2});
  }
  auto choices = std::vector<WorkChoice>{};
  for (std::int64_t micro_batch = 1; micro_batch <= samples; ++micro_batch) {
    if (samples % micro_batch != 0) continue;
    for (auto choice : recomputations) {
      choice.micro_batch = micro_batch;
      for (auto const offloads : {false, true}) {
        choice.offloads_activations = offloads;
        choices.push_back(choice);
      }
    }
  }
  return choices;
}

strategies::Plan with_choice(strategies::Plan plan, WorkChoice const& choice) {
  plan.micro_batch = choice.micro_batch;
  plan.recompute = choice.recompute;
  plan.recompute_scope = {.every = choice.every};
  plan.offload.activations = choice.offloads_activations;
  return plan;
}

std::string strategy_json(StrategyChoice const& strategy, WorkChoice const& choice) {
  auto offload = strategy.offload;
  if (choice.offloads_activations) offload += (offload.empty() ? "" : ", ") + std::string{R"("activations": true)"};
  if (!offload.empty()) offload = fmt::format(R"(, "offload": {{{}}})", offload);
  return fmt::format("{{{}{}{}}}", strategy.options, recompute_member(choice), offload);
}

std::string strategy_json(StrategyChoice const& strategy) {
  return strategy_json(strategy, {});
}

std::string recompute_text(WorkChoice const& choice) {
  auto const what = std::string{name_of(choice.recompute)};
  return choice.every == 1 ? what : fmt::format("{} every {}", what, choice.every);
}

}  // namespace twinstep::app::plan
