#include "strategies/mesh/stages.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "strategies/plan/planned_work.hpp"

namespace twinstep::strategies {
namespace {

using program::Grid;
using program::GridAxes;
using program::GridAxis;
using program::GridId;

bool is_grouped(Plan const& plan) {
  return inner_group(plan) != plan.parallel.data;
}

/// Stages, data-parallel ranks and tensor ranks, those that count up first last; without axes of one rank.
Grid grid_of(Plan const& plan) {
  auto const& parallel = plan.parallel;
  auto axes = std::vector<GridAxis>{};
  if (parallel.pipeline.stages > 1) axes.push_back({"pipeline", parallel.pipeline.stages});
  if (is_grouped(plan)) {
    axes.push_back({"replicate", parallel.data / inner_group(plan)});
    axes.push_back({"shard", inner_group(plan)});
  } else {
    axes.push_back({"data", parallel.data});
  }
  if (parallel.tensor > 1) axes.push_back({"tensor", parallel.tensor});
  return Grid{std::move(axes)};
}

GridAxes model_axes(Grid const& grid, Plan const& plan) {
  auto axes = program::AxisSet{};
  if (plan.parallel.pipeline.stages > 1) axes.insert(grid.find("pipeline"));
  if (plan.parallel.tensor > 1) axes.insert(grid.find("tensor"));
  return {GridId{0}, axes};
}

RankGroups data_groups(Grid const& grid, Plan const& plan) {
  if (is_grouped(plan)) return {grid, GridId{0}, {"replicate"}, {"shard"}};
  return {grid, GridId{0}, {}, {"data"}};
}

/// The units of each part: those of the whole model in its order, cut.
std::vector<UnitRange> units_of_parts(ModelWork const& work, std::vector<std::int64_t> const& layers) {
  auto parts = std::vector<UnitRange>{};
  auto end = std::size_t{1};  // behind the embedding
  for (auto const count : layers) {
    auto const first = parts.empty() ? 0 : end;
    end += static_cast<std::size_t>(count);
    parts.push_back({first, end});
  }
  parts.back().end = work.units.size();
  return parts;
}

RoleSpec role_of(std::int64_t stage, ModelWork const& work, std::vector<UnitRange> const& parts, Plan const& plan) {
  auto const& pipeline = plan.parallel.pipeline;
  auto role = RoleSpec{.name = "rank", .where = {}, .model = work, .chunks = {}, .schedule = {}, .stage = stage};
  if (pipeline.stages > 1) {
    role.name = fmt::format("stage {}", stage);
    role.where = {{"pipeline", stage}};
  }
  role.model.units.clear();
  for (std::int64_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
    auto const part = part_at(pipeline, stage, chunk);
    auto const units = parts[static_cast<std::size_t>(part)];
    auto& own = role.model.units;
    auto const first = own.size();
    for (auto unit = units.first; unit < units.end; ++unit) own.push_back(work.units[unit]);
    role.chunks.push_back({.units = {first, own.size()}, .before = {}, .after = {}});
    if (part > 0) role.chunks.back().before = place_of(pipeline, part - 1).stage;
    if (part + 1 < pipeline.parts()) role.chunks.back().after = place_of(pipeline, part + 1).stage;
  }
  role.schedule = schedule_of(pipeline, stage, accumulation(plan));
  return role;
}

/// Whether head and embedding, which share a matrix, are of different stages.
bool parts_tied_matrix(Transformer const& model, Plan const& plan) {
  auto const& pipeline = plan.parallel.pipeline;
  return model.tied_embeddings && place_of(pipeline, pipeline.parts() - 1).stage != place_of(pipeline, 0).stage;
}

/// Unit `unit` of a role has a tensor of which another stage has a copy.
void tie(RoleSpec& role, std::size_t unit, std::int32_t tensor, std::int64_t other) {
  auto const kind = role.model.units[unit].kind;
  role.model.kinds[static_cast<std::size_t>(kind)].parameters[static_cast<std::size_t>(tensor)].has_copy = true;
  role.tied = TiedCopy{unit, tensor, other};
}

/// The last tensor of the head is its matrix, the first of the embedding the tokens'.
void tie(StepSpec& step, Plan const& plan) {
  auto const& pipeline = plan.parallel.pipeline;
  auto const first = place_of(pipeline, 0).stage;
  auto const last = place_of(pipeline, pipeline.parts() - 1).stage;
  auto& head = step.roles[static_cast<std::size_t>(last)];
  auto const unit = head.model.units.size() - 1;
  auto const tensors = head.model.work(head.model.units[unit]).parameters.size();
  tie(head, unit, static_cast<std::int32_t>(tensors) - 1, first);
  tie(step.roles[static_cast<std::size_t>(first)], 0, 0, last);
}

std::optional<Infeasible> does_not_divide(std::string_view what, std::int64_t count, std::int64_t ranks) {
  if (count % ranks == 0) return std::nullopt;
  auto const most = std::gcd(count, ranks);
  return Infeasible{fmt::format("{} {} do not divide over {} tensor ranks", count, what, ranks),
                    most > 1 ? fmt::format("use {} tensor ranks", most) : "use another number of them"};
}

std::optional<Infeasible> find_tensor_obstacle(Transformer const& model, Plan const& plan) {
  auto const ranks = plan.parallel.tensor;
  if (auto obstacle = does_not_divide("attention heads", model.heads, ranks)) return obstacle;
  if (auto obstacle = does_not_divide("key-value heads", model.kv_heads, ranks)) return obstacle;
  if (auto obstacle = does_not_divide("columns of the MLP", model.ffn, ranks)) return obstacle;
  if (plan.parallel.sequence && plan.batch.sequence_length % ranks != 0)
    return does_not_divide("tokens of a sequence", plan.batch.sequence_length, ranks);
  return std::nullopt;
}

std::optional<Infeasible> find_layers_obstacle(Transformer const& model, Plan const& plan) {
  auto const& pipeline = plan.parallel.pipeline;
  auto const parts = pipeline.parts();
  if (!pipeline.layers.empty()) {
    auto const sum = std::accumulate(pipeline.layers.begin(), pipeline.layers.end(), std::int64_t{0});
    if (std::ssize(pipeline.layers) == parts && sum == model.layers) return std::nullopt;
    return Infeasible{fmt::format("the {} parts of the pipeline list {} entries with {} layers, the model has {}",
                                  parts, pipeline.layers.size(), sum, model.layers),
                      fmt::format("list {} numbers that add up to {}", parts, model.layers)};
  }
  auto const counted = model.layers + (pipeline.counts_embedding ? 1 : 0) + (pipeline.counts_head ? 1 : 0);
  if (counted < parts)
    return Infeasible{fmt::format("{} layers are fewer than {} parts of a pipeline", counted, parts),
                      fmt::format("use at most {} stages", counted / pipeline.chunks)};
  if (plan.strategy.traits().family == Family::kMegatron && counted % parts != 0)
    return Infeasible{
        fmt::format("{} layers do not divide over {} stages of {} chunks", counted, pipeline.stages, pipeline.chunks),
        "list the layers of each part, or count embedding and head as layers"};
  return std::nullopt;
}

std::optional<Infeasible> too_few_micro_batches(std::int64_t found, std::int64_t least, std::string_view why) {
  if (found >= least) return std::nullopt;
  return Infeasible{fmt::format("{} micro-batches are too few: {}", found, why),
                    fmt::format("use {} or more: a larger global batch or smaller micro-batches", least)};
}

/// PyTorch's micro-batches go in equal rounds; Megatron-LM's last group must not be shorter than the pipeline, or
/// stages get stuck (pipeline_parallel/schedules.py).
std::optional<Infeasible> find_group_obstacle(Pipeline const& pipeline, std::int64_t count) {
  auto const rounds = std::max(std::int64_t{1}, count / pipeline.stages);
  if (pipeline.group == 0 && count % rounds != 0)
    return Infeasible{
        fmt::format("{} micro-batches do not divide into {} rounds of {} stages", count, rounds, pipeline.stages),
        fmt::format("use a multiple of {}", pipeline.stages)};
  if (pipeline.group == 0) return std::nullopt;
  if (auto obstacle = too_few_micro_batches(count, pipeline.stages, "interleaving takes one for each stage at a time"))
    return obstacle;
  auto const rest = count % pipeline.group;
  if (rest == 0 || rest >= pipeline.stages) return std::nullopt;
  return Infeasible{fmt::format("{} micro-batches leave {} behind groups of {}, fewer than the {} stages", count, rest,
                                pipeline.group, pipeline.stages),
                    fmt::format("use a multiple of {}", pipeline.group)};
}

}  // namespace

std::vector<std::int64_t> layers_of_parts(std::int64_t layers, Pipeline const& pipeline) {
  if (!pipeline.layers.empty()) return pipeline.layers;
  auto const parts = pipeline.parts();
  auto const counted = layers + (pipeline.counts_embedding ? 1 : 0) + (pipeline.counts_head ? 1 : 0);
  auto out = std::vector<std::int64_t>(static_cast<std::size_t>(parts), counted / parts);
  for (std::int64_t i = 0; i < counted % parts; ++i) ++out[static_cast<std::size_t>(i)];
  if (pipeline.counts_embedding) --out.front();
  if (pipeline.counts_head) --out.back();
  return out;
}

std::optional<Infeasible> find_mesh_obstacle(Transformer const& model, Plan const& plan) {
  if (auto obstacle = find_tensor_obstacle(model, plan)) return obstacle;
  if (plan.parallel.pipeline.stages == 1) return std::nullopt;
  return find_layers_obstacle(model, plan);
}

std::optional<Infeasible> find_schedule_obstacle(Plan const& plan) {
  using enum PipelineSchedule;
  auto const& pipeline = plan.parallel.pipeline;
  auto const count = accumulation(plan);
  if (pipeline.stages == 1) return std::nullopt;
  if (pipeline.schedule == kDualPipeV)
    return too_few_micro_batches(count, 2 * pipeline.stages, "DualPipeV keeps two for each stage in flight");
  auto const is_interleaved = pipeline.schedule == kInterleaved || pipeline.schedule == kInterleavedZeroBubble;
  return is_interleaved ? find_group_obstacle(pipeline, count) : std::nullopt;
}

StepSpec mesh_step(Transformer const& model, Plan const& plan) {
  auto const& pipeline = plan.parallel.pipeline;
  auto const is_parted = parts_tied_matrix(model, plan);
  auto as_computed = model;
  if (is_parted) as_computed.tied_embeddings = false;
  auto const work = planned_work(as_computed, plan);
  auto const grid = grid_of(plan);
  auto step = StepSpec{.grids = {grid}};
  step.model_flops_per_micro_batch = (is_parted ? planned_work(model, plan) : work).model_flops_per_micro_batch;
  auto const parts = units_of_parts(work, layers_of_parts(model.layers, pipeline));
  for (std::int64_t stage = 0; stage < pipeline.stages; ++stage)
    step.roles.push_back(role_of(stage, work, parts, plan));
  if (is_parted) tie(step, plan);
  step.sets.push_back(data_groups(grid, plan));
  if (pipeline.stages > 1) step.pipeline = {GridId{0}, grid.along({"pipeline"})};
  if (plan.states.clips_gradients) step.model = model_axes(grid, plan);
  if (plan.parallel.tensor > 1) step.groups.push_back({"tensor", {GridId{0}, grid.along({"tensor"})}});
  return step;
}

}  // namespace twinstep::strategies
