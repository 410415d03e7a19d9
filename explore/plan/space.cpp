#include "explore/plan/space.hpp"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace twinstep::explore::plan {
namespace {

using strategies::Recompute;

/// Divisors of the ranks that a node's GPUs, or whole nodes, make; less than all of them.
std::vector<std::int64_t> group_sizes(RankLayout const& layout) {
  auto sizes = std::vector<std::int64_t>{};
  for (std::int64_t size = 2; size < layout.ranks; ++size)
    if (layout.ranks % size == 0 && (size % layout.gpus_per_node == 0 || layout.gpus_per_node % size == 0))
      sizes.push_back(size);
  return sizes;
}

class Choices {
 public:
  explicit Choices(RankLayout const& layout)
      : groups_{group_sizes(layout)}, has_drives_{layout.has_drives}, accumulates_{layout.accumulates} {
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
    add(R"("name": "ddp", "gradient_as_bucket_view": true)");
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
      if (accumulates_) add(options + R"(, "accumulation": "no_sync")");
    }
    add(R"("name": "fsdp1", "sharding": "NO_SHARD")");
    for (auto const* const sharding : {"HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"})
      add_groups(fmt::format(R"("name": "fsdp1", "sharding": "{}")", sharding), R"(, "shard_group": {})");
  }
  void add_fsdp2() {
    auto const plain = std::string{R"("name": "fsdp2")"};
    add_grouped(plain, R"(, "shard_group": {})");
    add_groups(plain, R"(, "reshard_after_forward": {})");
    add_grouped(plain + R"(, "reshard_after_forward": false)", R"(, "shard_group": {})");
    add(plain, R"("parameters": "cpu")");
    if (!accumulates_) return;
    add(plain + R"(, "accumulation": "no_sync")");
    add_groups(plain + R"(, "accumulation": "reduce_scatter")", R"(, "shard_group": {})");
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
    if (!has_drives_) return;
    add(stage3, R"("optimizer": "nvme")");
    add(stage3, R"("optimizer": "nvme", "parameters": "cpu")");
    add(stage3, R"("optimizer": "nvme", "parameters": "nvme")");
  }

  std::vector<std::int64_t> groups_;
  bool has_drives_;
  bool accumulates_;
  std::vector<StrategyChoice> choices_;
};

/// `, "recompute": …`; nothing where nothing is recomputed.
std::string recompute_member(WorkChoice const& choice) {
  if (choice.recompute == Recompute::kNone) return {};
  auto const what = name_of(choice.recompute);
  if (choice.scope.segment > 1)
    return fmt::format(R"(, "recompute": {{"what": "{}", "segment": {}}})", what, choice.scope.segment);
  if (choice.scope.every > 1)
    return fmt::format(R"(, "recompute": {{"what": "{}", "every": {}}})", what, choice.scope.every);
  return fmt::format(R"(, "recompute": "{}")", what);
}

/// The ways to recompute blocks of the model; only a transformer's are all alike, so that parts of them make sense.
/// Segments are of √L blocks, which keep the least (Chen et al., arXiv 1604.06174, section 4).
std::vector<WorkChoice> recomputations_of(strategies::ModelSpec const& model) {
  auto choices = std::vector<WorkChoice>{{}, {.recompute = Recompute::kFull}};
  auto const* const transformer = std::get_if<strategies::Transformer>(&model);
  if (transformer == nullptr) return choices;
  choices.push_back({.recompute = Recompute::kSelective});
  choices.push_back({.recompute = Recompute::kPerOp});
  for (std::int64_t every : {2, 4})
    if (every <= transformer->layers) choices.push_back({.recompute = Recompute::kFull, .scope = {.every = every}});
  auto const segment = std::lround(std::sqrt(static_cast<double>(transformer->layers)));
  if (segment > 1) choices.push_back({.recompute = Recompute::kFull, .scope = {.segment = segment}});
  return choices;
}

}  // namespace

std::vector<StrategyChoice> strategy_choices(RankLayout const& layout) {
  return Choices{layout}.take();
}

std::vector<WorkChoice> work_choices(strategies::ModelSpec const& model, std::int64_t samples) {
  auto const recomputations = recomputations_of(model);
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
  plan.batch.micro_batch = choice.micro_batch;
  plan.kernels.recompute = choice.recompute;
  plan.kernels.recompute_scope = choice.scope;
  plan.states.offload.activations = choice.offloads_activations;
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
  if (choice.scope.segment > 1) return fmt::format("{} in segments of {}", what, choice.scope.segment);
  return choice.scope.every > 1 ? fmt::format("{} every {}", what, choice.scope.every) : what;
}

}  // namespace twinstep::explore::plan
