#include "explore/plan/space.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/io/change.hpp"
#include "sim/io/document_text.hpp"

namespace twinstep::explore::plan {
namespace {

using strategies::DdpOptions;
using strategies::DeepSpeedOptions;
using strategies::Fsdp1Options;
using strategies::Fsdp2Options;
using strategies::FsdpAccumulation;
using strategies::Offload;
using strategies::OffloadPlace;
using strategies::Plan;
using strategies::Recompute;
using strategies::Strategy;
using strategies::StrategyName;

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
  explicit Choices(RankLayout const& layout) : layout_{layout}, groups_{group_sizes(layout)} {
    add_replicated();
    add_textbook();
    add_fsdp1();
    add_fsdp2();
    add_deepspeed();
    add_grouped(StrategyName::kMegatron);
  }
  [[nodiscard]] std::vector<Plan> take() && { return std::move(choices_); }

 private:
  void add(Strategy const& strategy, Offload offload = {}, std::int64_t shard_group = 0) {
    choices_.push_back({.strategy = strategy,
                        .parallel = {.data = layout_.ranks, .shard_group = shard_group},
                        .states = {.offload = offload}});
  }
  /// Alone and with groups of each size.
  void add_grouped(Strategy const& strategy) {
    add(strategy);
    add_groups(strategy);
  }
  void add_groups(Strategy const& strategy) {
    for (auto const size : groups_) add(strategy, {}, size);
  }

  void add_replicated() {
    add(StrategyName::kNaive);
    add(StrategyName::kDdp);
    add(DdpOptions{.gradient_as_bucket_view = true});
  }
  void add_textbook() {
    add_grouped(StrategyName::kZero1);
    add(StrategyName::kZero2);
    add(StrategyName::kZero3);
  }
  void add_fsdp1() {
    using enum Fsdp1Options::Sharding;
    for (auto const sharding : {kFullShard, kShardGradOp}) {
      add(Fsdp1Options{.sharding = sharding});
      add(Fsdp1Options{.sharding = sharding}, kAllOnCpu);
      if (layout_.accumulates) add(Fsdp1Options{.sharding = sharding, .accumulation = FsdpAccumulation::kNoSync});
    }
    add(Fsdp1Options{.sharding = kNoShard});
    for (auto const sharding : {kHybridShard, kHybridShardZero2}) add_groups(Fsdp1Options{.sharding = sharding});
  }
  void add_fsdp2() {
    add_grouped(Fsdp2Options{});
    for (auto const size : groups_) add(Fsdp2Options{.reshard_after_forward = size});
    add_grouped(Fsdp2Options{.reshard_after_forward = 0});
    add(Fsdp2Options{}, kAllOnCpu);
    if (!layout_.accumulates) return;
    add(Fsdp2Options{.accumulation = FsdpAccumulation::kNoSync});
    add_groups(Fsdp2Options{.accumulation = FsdpAccumulation::kReduceScatter});
  }
  void add_deepspeed() {
    using enum OffloadPlace;
    for (auto const stage : {1, 2}) {
      add(DeepSpeedOptions{.stage = stage});
      add(DeepSpeedOptions{.stage = stage, .overlap_comm = true});
      add(DeepSpeedOptions{.stage = stage}, {.optimizer = kCpu});
    }
    add(DeepSpeedOptions{.stage = 3});
    for (auto const size : groups_) add(DeepSpeedOptions{.stage = 3, .zero_hpz_partition_size = size});
    add(DeepSpeedOptions{.stage = 3}, {.optimizer = kCpu});
    add(DeepSpeedOptions{.stage = 3}, kAllOnCpu);
    if (!layout_.has_drives) return;
    for (auto const parameters : {kNone, kCpu, kNvme})
      add(DeepSpeedOptions{.stage = 3}, {.optimizer = kNvme, .parameters = parameters});
  }

  static constexpr auto kAllOnCpu = Offload{.optimizer = OffloadPlace::kCpu, .parameters = OffloadPlace::kCpu};

  RankLayout layout_;
  std::vector<std::int64_t> groups_;
  std::vector<Plan> choices_;
};

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

using Members = std::vector<std::pair<std::string_view, io::Node>>;

/// The options that are chosen here, where they are not the defaults.
struct AddOptions {
  Members& members;

  void operator()(DdpOptions const& ddp) const {
    if (ddp.gradient_as_bucket_view) add("gradient_as_bucket_view", true);
  }
  void operator()(Fsdp1Options const& fsdp1) const {
    add("sharding", name_of(fsdp1.sharding));
    add(fsdp1.accumulation);
  }
  void operator()(Fsdp2Options const& fsdp2) const {
    if (fsdp2.reshard_after_forward == 0) add("reshard_after_forward", false);
    if (fsdp2.reshard_after_forward > 1) add("reshard_after_forward", fsdp2.reshard_after_forward);
    add(fsdp2.accumulation);
  }
  void operator()(DeepSpeedOptions const& deepspeed) const {
    if (deepspeed.overlap_comm) add("overlap_comm", *deepspeed.overlap_comm);
    if (deepspeed.zero_hpz_partition_size > 1) add("zero_hpz_partition_size", deepspeed.zero_hpz_partition_size);
  }
  void operator()(auto const&) const {}

 private:
  void add(std::string_view key, auto value) const { members.emplace_back(key, io::value_node(value)); }
  void add(FsdpAccumulation accumulation) const {
    if (accumulation != FsdpAccumulation::kReduce) add("accumulation", name_of(accumulation));
  }
};

io::Node recompute_node(strategies::Kernels const& kernels) {
  auto what = io::value_node(name_of(kernels.recompute));
  auto const& [every, segment, first] = kernels.recompute_scope;
  if (segment > 1) return io::value_node({{"what", what}, {"segment", io::value_node(segment)}});
  if (every > 1) return io::value_node({{"what", what}, {"every", io::value_node(every)}});
  return what;
}

Members offload_members(Plan const& plan) {
  auto members = Members{};
  auto const& [optimizer, parameters, activations] = plan.states.offload;
  auto const follows = plan.strategy.traits().offload.moves_both && parameters != OffloadPlace::kNone;
  if (optimizer != OffloadPlace::kNone && !follows)
    members.emplace_back("optimizer", io::value_node(name_of(optimizer)));
  if (parameters != OffloadPlace::kNone) members.emplace_back("parameters", io::value_node(name_of(parameters)));
  if (activations) members.emplace_back("activations", io::value_node(true));
  return members;
}

}  // namespace

std::vector<Plan> strategy_choices(RankLayout const& layout) {
  return Choices{layout}.take();
}

std::vector<WorkChoice> work_choices(strategies::ModelSpec const& model, std::int64_t samples, std::int64_t most) {
  auto const recomputations = recomputations_of(model);
  auto choices = std::vector<WorkChoice>{};
  for (std::int64_t micro_batch = 1; micro_batch <= std::min(samples, most); ++micro_batch) {
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

io::Node strategy_node(Plan const& plan) {
  auto members = Members{{"name", io::value_node(name_of(plan.strategy))}};
  std::visit(AddOptions{members}, plan.strategy.options());
  if (plan.parallel.shard_group > 0) members.emplace_back("shard_group", io::value_node(plan.parallel.shard_group));
  if (plan.kernels.recompute != Recompute::kNone) members.emplace_back("recompute", recompute_node(plan.kernels));
  if (auto const offload = offload_members(plan); !offload.empty())
    members.emplace_back("offload", io::value_node(offload));
  return io::value_node(members);
}

std::string other_options(Plan const& plan) {
  auto members = Members{};
  std::visit(AddOptions{members}, plan.strategy.options());
  auto text = std::string{};
  for (auto const& [key, value] : members) {
    auto const shown = value.is(io::Node::Type::kString) ? std::string{value.string()} : io::document_line(value);
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", key == "sharding" ? "" : fmt::format("{} ", key), shown);
  }
  return text;
}

std::string offload_text(strategies::Offload const& offload) {
  using enum strategies::OffloadPlace;
  auto const at = [](std::string const& what, auto place) { return place == kNvme ? what + " (NVMe)" : what; };
  auto parts = std::vector<std::string>{};
  if (offload.optimizer != kNone && offload.optimizer != offload.parameters)
    parts.push_back(at("optimizer", offload.optimizer));
  if (offload.parameters != kNone) parts.push_back(at("parameters", offload.parameters));
  if (offload.activations) parts.emplace_back("activations");
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, " + "));
}

std::string recompute_text(strategies::Kernels const& kernels) {
  auto const what = std::string{name_of(kernels.recompute)};
  auto const& [every, segment, first] = kernels.recompute_scope;
  if (segment > 1) return fmt::format("{} in segments of {}", what, segment);
  return every > 1 ? fmt::format("{} every {}", what, every) : what;
}

}  // namespace twinstep::explore::plan
