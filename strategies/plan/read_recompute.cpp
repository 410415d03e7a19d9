#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "strategies/plan/read_plan.hpp"

namespace twinstep::strategies {
namespace {

struct LayersOf {
  std::int64_t operator()(Transformer const& model) const { return model.layers; }
  std::int64_t operator()(Mlp const& model) const { return model.layers(); }
  std::int64_t operator()(Cnn const& model) const {
    return std::accumulate(model.stages.begin(), model.stages.end(), std::int64_t{0},
                           [](std::int64_t sum, CnnStage const& stage) { return sum + stage.blocks; });
  }
};

/// A number of layers, if `key` is there.
std::optional<std::int64_t> read_count(io::Node const& object, std::string_view key, std::int64_t layers) {
  auto const node = object.find(key);
  if (!node) return std::nullopt;
  auto const count = node->integer_from(1);
  if (count > layers)
    node->fail(fmt::format("found {}, expected at most the model's {} layers", count, layers), "lower it");
  return count;
}

}  // namespace

std::int64_t layers_of(ModelSpec const& model) {
  return std::visit(LayersOf{}, model);
}

void read_recompute(io::Node const& recompute, ModelSpec const& model, Plan& plan) {
  auto const layers = layers_of(model);
  if (recompute.is(io::Node::Type::kString) && recompute.string() == "sqrt") {
    plan.kernels.recompute = Recompute::kFull;
    plan.kernels.recompute_scope.segment = std::lround(std::sqrt(static_cast<double>(layers)));
    return;
  }
  if (!recompute.is(io::Node::Type::kObject)) {
    plan.kernels.recompute = recompute.word<Recompute>();
    return;
  }
  recompute.allow_only({"what", "every", "segment", "first"});
  auto const what = recompute.find("what");
  auto& scope = plan.kernels.recompute_scope;
  plan.kernels.recompute = what ? what->word<Recompute>() : Recompute::kFull;
  scope.every = read_count(recompute, "every", layers).value_or(1);
  scope.segment = read_count(recompute, "segment", layers).value_or(1);
  scope.first = read_count(recompute, "first", layers);
  if (scope.segment > 1 && plan.kernels.recompute != Recompute::kFull)
    what->fail(fmt::format("found {} beside \"segment\"", name_of(plan.kernels.recompute)),
               "a segment keeps its input alone: leave out \"what\"");
  if (scope.segment > 1 && scope.every > 1)
    recompute.at("every").fail("found it beside \"segment\"", "give one of the two");
}

}  // namespace twinstep::strategies
