#include "explore/ask/assumptions.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "explore/ask/software.hpp"
#include "hw_profiles/facts.hpp"
#include "reports/quantity_text.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::explore {
namespace {

using io::Node;

/// What could be otherwise, before it is known what that comes to.
struct Open {
  std::string what;
  io::Change otherwise;
};

/// What a scenario says nothing of.
class OpenEnds {
 public:
  OpenEnds(Answered const& question, std::size_t place)
      : scenario_{question.scenarios[place]},
        plan_{scenario_.plan},
        document_{question.question.changed()},
        place_{place},
        strategy_path_{question.strategy_path(place)} {
    add_kernels();
    add_software();
    add_accumulation();
    add_slots();
    add_batch();
  }
  [[nodiscard]] std::vector<Open> take() && { return std::move(open_); }

 private:
  template <class Value>
  void add(std::string what, std::string const& path, Value value) {
    open_.push_back({std::move(what), io::change_to(path, io::value_node(value))});
  }

  [[nodiscard]] static bool says(std::optional<Node> const& object, std::string_view key) {
    return object && object->is(Node::Type::kObject) && object->has(key);
  }
  [[nodiscard]] bool trains_with(std::string_view key) const { return says(document_.find("training"), key); }
  [[nodiscard]] std::optional<Node> strategy() const {
    auto all = document_.find("strategy");
    if (!all || !all->is(Node::Type::kArray)) return all;
    return all->elements().at(place_);
  }

  void add_kernels() {
    auto const is_transformer = std::holds_alternative<strategies::Transformer>(scenario_.model);
    if (is_transformer && plan_.kernels.flash_attention && !trains_with("flash_attention"))
      add("attention is one fused kernel", "training.flash_attention", false);
  }

  void add_software() {
    if (!scenario_.cluster->stack.name.empty()) return;
    auto const stack = stack_of(plan_.strategy.name());
    add(fmt::format("the software is {}", stack), "cluster.stack",
        stack == "pytorch-eager" ? std::string_view{"pytorch-compiled"} : std::string_view{"megatron-core"});
  }

  /// DDP and FSDP may communicate in each micro-batch, or in the last alone.
  void add_accumulation() {
    if (strategies::accumulation(plan_) < 2) return;
    auto const* const ddp = plan_.strategy.get_if<strategies::DdpOptions>();
    if (ddp != nullptr && !says(strategy(), "no_sync"))
      add("micro-batches before the last communicate nothing", strategy_path_ + ".no_sync", false);
    auto const is_fsdp =
        plan_.strategy == strategies::StrategyName::kFsdp1 || plan_.strategy == strategies::StrategyName::kFsdp2;
    if (is_fsdp && !says(strategy(), "accumulation"))
      add("each micro-batch reduces its gradients", strategy_path_ + ".accumulation", std::string_view{"no_sync"});
  }

  /// Physical facts do not tell in which slots cards sit. Boards for two cards often give the second a quarter.
  void add_slots() {
    auto const cluster = document_.find("cluster");
    if (!cluster || !cluster->is(Node::Type::kObject) || !hw_profiles::are_facts(*cluster)) return;
    auto const& node = scenario_.cluster->node();
    auto const is_by_pcie =
        node.intra == hardware::IntraNode::kPcieP2p || node.intra == hardware::IntraNode::kPcieStaged;
    if (!is_by_pcie || says(cluster->find("node"), "gpu_link")) return;
    auto const rate = node.gpu_link.value;
    add(fmt::format("GPUs reach each other at {} one way, a full slot", reports::rate_text(rate)),
        "cluster.node.gpu_link", std::string_view{fmt::format("{:.4g} GB/s", rate.count() / 4e9)});
  }

  void add_batch() {
    if (!document_.find("training")) return;
    auto const length = plan_.batch.sequence_length;
    if (length > 1 && !trains_with("sequence_length"))
      add(fmt::format("sequences have {} tokens, the model's most", length), "training.sequence_length", length / 2);
    if (!trains_with("micro_batch") && !trains_with("global_batch"))
      add(fmt::format("a micro-batch is {}", plan_.batch.micro_batch), "training.micro_batch",
          2 * plan_.batch.micro_batch);
  }

  Scenario const& scenario_;
  strategies::Plan const& plan_;
  Node document_;
  std::size_t place_;
  std::string strategy_path_;
  std::vector<Open> open_;
};

/// What the change comes to; nothing where it cannot be made.
std::optional<reports::Assumption> tried(Answered const& question, std::size_t place, Open open) try {
  auto const outcome = run_variation(question.changed(place, {open.otherwise}), {.replays_allocator = false});
  auto const* const run = std::get_if<Run>(&outcome);
  auto const before = question.run(place)->summary.token_rate;
  if (run == nullptr || before.count() == 0) return std::nullopt;
  return reports::Assumption{std::move(open.what), std::move(open.otherwise), run->summary.step_time,
                             run->summary.token_rate / before};
} catch (InputError const&) {
  return std::nullopt;
}

double strength(reports::Assumption const& assumption) {
  return std::abs(std::log(assumption.throughput));
}

}  // namespace

std::vector<reports::Assumption> assumptions_of(Answered const& question, std::size_t place) {
  constexpr double kLeast = 0.03;
  auto found = std::vector<reports::Assumption>{};
  for (auto& open : OpenEnds{question, place}.take())
    if (auto assumption = tried(question, place, std::move(open)); assumption && strength(*assumption) > kLeast)
      found.push_back(std::move(*assumption));
  std::ranges::stable_sort(found, std::greater{}, strength);
  return found;
}

}  // namespace twinstep::explore
