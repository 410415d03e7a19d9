#include <fmt/core.h>

#include "strategies/compile.hpp"
#include "strategies/plan/planned_work.hpp"
#include "tests/conformance/mesh_training.hpp"
#include "tests/conformance/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mesh_mlps.hpp"
#include "tests/support/plans.hpp"

using namespace twinstep;
using namespace twinstep::literals;
using namespace twinstep::strategies;
using namespace twinstep::tests;
using program::Grid;
using program::GridAxes;
using program::GridId;

namespace {

constexpr std::int64_t kMicroBatch = 2;
constexpr StrategyName kTried[] = {StrategyName::kNaive, StrategyName::kDdp, StrategyName::kZero1};

Plan fp64_plan(StrategyName name, std::int64_t data_ranks, std::int64_t micro_batches) {
  return {.strategy = with_buckets(name, 1_KiB, 256_B),
          .parallel = {.data = data_ranks},
          .batch = {.micro_batch = kMicroBatch, .global_batch = kMicroBatch * data_ranks * micro_batches},
          .kernels = {.precision = DataType::kFp64}};
}

Shape shape_of(Plan const& plan) {
  auto const averaged = plan.strategy.traits().averages_gradients ? static_cast<double>(plan.parallel.data) : 1.0;
  return {.micro_batch = kMicroBatch,
          .compute_type = DataType::kFp64,
          .gradient_type = DataType::kFp64,
          .loss_scale = 2 * averaged / static_cast<double>(plan.batch.global_batch)};
}

/// The mean over the last layer's width is part of the loss's scale.
Shape shape_of(Plan const& plan, std::vector<std::int64_t> const& widths) {
  auto shape = shape_of(plan);
  shape.loss_scale /= static_cast<double>(widths.back());
  return shape;
}

RoleSpec only_role(ModelWork model, std::int64_t micro_batches) {
  auto const all = UnitRange{0, model.units.size()};
  return {.name = "rank",
          .model = std::move(model),
          .chunks = {{.units = all}},
          .schedule = one_after_another(micro_batches)};
}

/// Eight layers.
std::vector<std::int64_t> const kWidths{7, 11, 13, 5, 6, 9, 4, 8, 3};

/// Each part of the pipeline has as many layers; the last has the loss too. Pipelines are the outermost axis of the
/// grid.
MeshJob pipeline(Plan const& plan, Pipeline const& shape, std::function<Schedule(std::int64_t stage)> const& schedule) {
  auto const data = plan.parallel.data;
  auto const grid = Grid{{{"pipeline", shape.stages}, {"data", data}}};
  auto job = MeshJob{.widths = kWidths, .plan = plan};
  job.plan.parallel.pipeline.exchange = shape.exchange;
  job.data_rank = [data](RankId rank) { return static_cast<std::int64_t>(rank.index()) % data; };
  job.step.grids = {grid};
  job.step.pipeline = {GridId{0}, grid.along({"pipeline"})};
  job.step.sets.emplace_back(grid, GridId{0}, RankGroups::Axes{}, RankGroups::Axes{"data"});
  auto const model = planned_work(Mlp{"mlp", job.widths}, plan);
  auto const layers = static_cast<std::int64_t>(kWidths.size() - 1) / shape.parts();
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    auto role = RoleSpec{.name = fmt::format("stage {}", stage),
                         .where = {{"pipeline", stage}},
                         .model = part_of(model, {}),
                         .schedule = schedule(stage),
                         .stage = stage};
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      auto const part = part_at(shape, stage, chunk);
      auto const first = role.model.units.size();
      auto const begin = model.units.begin() + part * layers;
      role.model.units.insert(role.model.units.end(), begin,
                              part + 1 == shape.parts() ? model.units.end() : begin + layers);
      role.chunks.push_back({.units = {first, role.model.units.size()}});
      if (part > 0) role.chunks.back().before = place_of(shape, part - 1).stage;
      if (part + 1 < shape.parts()) role.chunks.back().after = place_of(shape, part + 1).stage;
    }
    job.step.roles.push_back(std::move(role));
  }
  return job;
}

/// Each backward in two parts, weight gradients after everything else.
Schedule with_late_weight_gradients(Schedule schedule) {
  using enum ScheduledPass::Kind;
  auto late = Schedule{};
  for (auto& pass : schedule) {
    if (pass.kind != kBackward) continue;
    pass.kind = kInputGradient;
    late.push_back({kWeightGradient, pass.chunk, pass.micro_batch});
  }
  schedule.insert(schedule.end(), late.begin(), late.end());
  return schedule;
}

}  // namespace

struct PipelineCase {
  StrategyName name;
  std::int64_t data = 1;
  std::int64_t micro_batches = 8;
};
constexpr PipelineCase kPipelines[] = {{StrategyName::kNaive, 1, 8},  {StrategyName::kNaive, 1, 9},
                                       {StrategyName::kNaive, 1, 11}, {StrategyName::kDdp, 2, 9},
                                       {StrategyName::kZero1, 2, 11}, {StrategyName::kZero1, 1, 8}};

// Sums over micro-batches come in the same order as on a single rank; 1e-12 is rounding (see "every strategy trains
// like a single rank"). 4 stages of two layers, or of two chunks of one.
TEST_CASE("a pipeline trains like a single rank, whatever its schedule and its exchanges", "[conformance][mesh][cpu]") {
  using enum PipelineSchedule;
  for (auto const [name, data, micro_batches] : kPipelines) {
    auto const plan = fp64_plan(name, data, micro_batches);
    auto const alone = train_alone(kWidths, plan.batch.global_batch);
    auto const check = [&](Pipeline const& shape, std::string_view what, auto const& schedule) {
      INFO(fmt::format("{}, {} data-parallel ranks, {} micro-batches, {}, {}", name_of(name), data, micro_batches, what,
                       name_of(shape.exchange)));
      CHECK(largest_difference(train(pipeline(plan, shape, schedule)), alone) < 1e-12);
    };
    for (auto const schedule :
         {kGpipe, kOneForwardOneBackward, kInterleaved, kInterleavedZeroBubble, kZeroBubbleV, kDualPipeV}) {
      auto const chunks = schedule == kGpipe || schedule == kOneForwardOneBackward ? 1 : 2;
      // A last group with fewer micro-batches than stages would get stuck.
      auto const group = micro_batches % 4 == 0 ? 4 : micro_batches;
      auto shape = Pipeline{.stages = 4, .chunks = chunks, .schedule = schedule, .group = group};
      auto const passes = [&](std::int64_t stage) { return schedule_of(shape, stage, micro_batches); };
      check(shape, name_of(schedule), passes);
      if (chunks > 1) continue;
      for (auto const exchange : {PipelineExchange::kBatched, PipelineExchange::kBlocking}) {
        if (exchange == PipelineExchange::kBlocking && schedule == kGpipe) continue;  // see read_parallel
        shape.exchange = exchange;
        check(shape, name_of(schedule), passes);
      }
      shape.exchange = PipelineExchange::kOverlapped;
      check(shape, "late weight gradients",
            [&](std::int64_t stage) { return with_late_weight_gradients(passes(stage)); });
    }
  }
}

// The tensor group sums what its two ranks compute of a layer: in forward after every second layer, in backward before
// every first one but the model's.
TEST_CASE("an MLP whose layers are split over two ranks trains like a single rank", "[conformance][mesh][cpu]") {
  auto const widths = std::vector<std::int64_t>{6, 8, 4, 10, 3};
  for (auto const name : kTried)
    for (std::int64_t const data : {1, 2}) {
      INFO(fmt::format("{}, {} data-parallel ranks", name_of(name), data));
      auto const plan = fp64_plan(name, data, 2);
      auto const grid = Grid{{{"data", data}, {"tensor", 2}}};
      auto job = MeshJob{.widths = widths, .plan = plan};
      job.step.grids = {grid};
      job.step.groups = {{"tensor", {GridId{0}, grid.along({"tensor"})}}};
      job.step.sets.emplace_back(grid, GridId{0}, RankGroups::Axes{}, RankGroups::Axes{"data"});
      job.step.roles.push_back(only_role(split_mlp(widths, shape_of(plan, widths), 2), 2));
      job.data_rank = [](RankId rank) { return static_cast<std::int64_t>(rank.index()) / 2; };
      job.place = [](RankId rank, std::int64_t layer, Tensor const& matrix) {
        auto const half = static_cast<std::int64_t>(rank.index()) % 2;
        return layer % 2 == 0 ? MatrixPlace{.row = half * matrix.rows} : MatrixPlace{.column = half * matrix.columns};
      };
      CHECK(largest_difference(train(job), train_alone(widths, plan.batch.global_batch)) < 1e-12);
    }
}

// Four ranks: all of them share the first and the last layer; the experts' halves are shared by two ranks each, along
// "replica" of a second grid of the same ranks.
TEST_CASE("a second set of parameters, with a group of its own, trains like a single rank",
          "[conformance][mesh][cpu]") {
  auto const widths = std::vector<std::int64_t>{6, 8, 10, 8, 3};
  for (auto const name : kTried) {
    INFO(name_of(name));
    auto const plan = fp64_plan(name, 4, 2);
    auto const dense = Grid{{{"data", 4}}, "dense"};
    auto const experts = Grid{{{"replica", 2}, {"expert", 2}}, "experts"};
    auto job = MeshJob{.widths = widths, .plan = plan};
    job.step.grids = {dense, experts};
    job.step.groups = {{"expert", {GridId{1}, experts.along({"expert"})}}};
    job.step.sets.emplace_back(dense, GridId{0}, RankGroups::Axes{}, RankGroups::Axes{"data"});
    job.step.sets.emplace_back(experts, GridId{1}, RankGroups::Axes{}, RankGroups::Axes{"replica"}, "expert ");
    job.step.roles.push_back(only_role(expert_mlp(widths, shape_of(plan, widths)), 2));
    job.data_rank = [](RankId rank) { return static_cast<std::int64_t>(rank.index()); };
    job.place = [](RankId rank, std::int64_t layer, Tensor const& matrix) {
      auto const half = static_cast<std::int64_t>(rank.index()) % 2;
      if (layer == 1) return MatrixPlace{.row = half * matrix.rows};
      return layer == 2 ? MatrixPlace{.column = half * matrix.columns} : MatrixPlace{};
    };
    CHECK(largest_difference(train(job), train_alone(widths, plan.batch.global_batch)) < 1e-12);
  }
}
