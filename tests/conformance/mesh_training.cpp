#include "tests/conformance/mesh_training.hpp"

#include <optional>
#include <string>

#include "sim/program/matching.hpp"
#include "sim/program/races.hpp"
#include "sim/program/well_formed.hpp"
#include "strategies/compile.hpp"
#include "strategies/parts/flat_layout.hpp"
#include "strategies/plan/planned_work.hpp"
#include "strategies/torch/ddp_buckets.hpp"
#include "tests/conformance/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cpu_executor.hpp"
#include "tests/support/timeline_checks.hpp"

namespace twinstep::tests {

using namespace strategies;

namespace {

constexpr int kStepsOnMesh = 3;
using Strings = std::vector<std::string>;

/// Those strategies that have all parameters in a flat buffer of this layout between steps.
FlatLayout layout_of(Parameters const& parameters, Plan const& plan, std::int64_t shards) {
  auto const precision = plan.kernels.precision;
  switch (plan.strategy.name()) {
    case StrategyName::kDdp:
      return {parameters, ddp_buckets(parameters, plan.strategy.get<DdpOptions>(), held_type(plan)), 1};
    case StrategyName::kZero1: {
      auto const limits = bucket_limits(plan.strategy.get<TextbookOptions>(), precision);
      return {parameters, bucketed(parameters, precision, limits), shards};
    }
    default: return {parameters, one_by_one(parameters), 1};
  }
}

/// The matrices of an MLP, as they are numbered over ranks.
class Matrices {
 public:
  explicit Matrices(MeshJob const& job, program::StepProgram const& program) : job_{job}, program_{program} {
    for (std::size_t layer = 0; layer + 1 < job.widths.size(); ++layer)
      values_.emplace_back(static_cast<std::size_t>(job.widths[layer] * job.widths[layer + 1]));
  }

  /// Calls `visit(number on the rank, layer, number in the whole)` for each number of a set that `rank` holds.
  template <class Visit>
  void for_each(RankId rank, std::int32_t set, Visit const& visit) const {
    auto const& model = job_.step.roles[program_.role_of(rank).index()].model;
    auto const parameters = Parameters{model, set};
    auto const layout = layout_of(parameters, job_.plan, job_.step.sets[static_cast<std::size_t>(set)].shard_ranks());
    for (std::size_t p = 0; p < parameters.count(); ++p) {
      auto const id = ParameterId{p};
      auto const layer = model.units[parameters.unit_of(id)].index;
      auto const& matrix = parameters.tensor(id);
      auto const place = job_.place(rank, layer, matrix);
      for (std::int64_t i = 0; i < matrix.elements(); ++i) {
        auto const row = place.row + i / matrix.columns;
        auto const column = place.column + i % matrix.columns;
        auto const whole = row * job_.widths[static_cast<std::size_t>(layer)] + column;
        visit(static_cast<std::size_t>(layout.offset(id) + i), static_cast<std::size_t>(layer),
              static_cast<std::size_t>(whole));
      }
    }
  }

  /// Takes what `rank` holds of a set; what another rank holds too must be the same.
  void take(RankId rank, std::int32_t set, std::vector<double> const& held) {
    for_each(rank, set, [&](std::size_t own, std::size_t layer, std::size_t whole) {
      auto& value = values_[layer][whole];
      if (value) CHECK(*value == held[own]);
      value = held[own];
    });
  }

  [[nodiscard]] std::vector<double> all() const {
    auto out = std::vector<double>{};
    for (auto const& layer : values_)
      for (auto const& value : layer) {
        REQUIRE(value);
        out.push_back(*value);
      }
    return out;
  }

 private:
  MeshJob const& job_;
  program::StepProgram const& program_;
  std::vector<std::vector<std::optional<double>>> values_;  // by layer
};

/// The scope of a set's parameters.
std::string scope_of(std::size_t set) {
  return set == 0 ? std::string{} : "parameters." + std::to_string(set);
}

/// The set that a buffer of parameters belongs to, by its scope; nothing for other buffers.
std::optional<std::int32_t> set_of(MeshJob const& job, program::StepProgram const& program,
                                   program::FreshBuffer const& buffer) {
  if (buffer.name != "parameters") return std::nullopt;
  auto const unit = buffer.scope.unit.exists() ? program.text(buffer.scope.unit) : std::string{};
  for (std::size_t set = 0; set < job.step.sets.size(); ++set)
    if (scope_of(set) == unit) return static_cast<std::int32_t>(set);
  return std::nullopt;
}

/// Sample i of the global batch is the same numbers wherever it is computed.
void fill_samples(MeshJob const& job, RankId rank, std::int64_t micro_step, std::span<double> values) {
  auto const samples = job.plan.batch.micro_batch;
  auto const per_sample = values.size() / static_cast<std::size_t>(samples);
  auto const first = static_cast<std::size_t>((micro_step * job.plan.parallel.data + job.data_rank(rank)) * samples);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = noise(per_sample, first * per_sample + i);
}

void initialise(MeshJob const& job, program::StepProgram const& program, Matrices const& matrices,
                program::FreshBuffer const& buffer, std::span<double> values) {
  if (buffer.category == program::MemoryCategory::kInputs)
    return fill_samples(job, buffer.rank, buffer.scope.micro_batch, values);
  std::fill(values.begin(), values.end(), 0.0);
  auto const set = set_of(job, program, buffer);
  if (!set) return;
  matrices.for_each(buffer.rank, *set, [&](std::size_t own, std::size_t layer, std::size_t whole) {
    values[own] = noise(1000 + layer, whole) / 2;
  });
}

}  // namespace

std::vector<double> train(MeshJob const& job) {
  auto const program = write_step(job.step, job.plan);
  CHECK(program::find_defects(program) == Strings{});
  CHECK(program::find_races(program) == Strings{});
  CHECK(program::find_mismatches(program) == Strings{});
  auto matrices = Matrices{job, program};
  auto environment = cpu::Environment{[&](program::FreshBuffer const& buffer, std::span<double> values) {
    initialise(job, program, matrices, buffer, values);
  }};
  for (int i = 0; i < kStepsOnMesh; ++i) CHECK(find_violations(program, cpu::run(program, environment)) == Strings{});
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(program.grids.world_size()); ++rank)
    for (std::size_t set = 0; set < job.step.sets.size(); ++set) {
      matrices.take(RankId{rank}, static_cast<std::int32_t>(set),
                    environment.read(RankId{rank}, "parameters", scope_of(set)));
    }
  return matrices.all();
}

std::vector<double> train_alone(std::vector<std::int64_t> const& widths, std::int64_t global_batch) {
  auto const plan = Plan{.strategy = StrategyName::kNaive,
                         .batch = {.micro_batch = global_batch, .global_batch = global_batch},
                         .kernels = {.precision = DataType::kFp64}};
  auto groups = RankGroups{1, 1};
  auto step = StepSpec{.grids = {groups.grid()}};
  auto model = planned_work(Mlp{"mlp", widths}, plan);
  auto const all = UnitRange{0, model.units.size()};
  step.roles.push_back(
      {.name = "alone", .model = std::move(model), .chunks = {{.units = all}}, .schedule = one_after_another(1)});
  step.sets.push_back(std::move(groups));
  return train({.widths = widths, .plan = plan, .step = std::move(step), .data_rank = [](RankId) { return 0; }});
}

}  // namespace twinstep::tests
