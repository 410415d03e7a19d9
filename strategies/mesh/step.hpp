#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/program/builder.hpp"
#include "strategies/mesh/schedule.hpp"
#include "strategies/model/work.hpp"
#include "strategies/parts/computation.hpp"
#include "strategies/parts/rank_groups.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::strategies {

/// A part of the model that a role computes at a time.
struct ChunkSpec {
  UnitRange units;  ///< of the role's
  /// Stages of the pipeline from which its input comes and to which its output goes; none at the ends of the model. The
  /// role's own stage: from one chunk of it to the next.
  std::optional<std::int64_t> before, after;
};

/// A matrix of which another stage has a copy: the embedding's, which a tied head multiplies with. Both stages add the
/// gradients of both.
struct TiedCopy {
  std::size_t unit = 0;  ///< of the role
  std::int32_t tensor = 0;
  std::int64_t stage = 0;  ///< that has the other copy
};

/// What the ranks of one role do: a stage of a pipeline, or all ranks of a data-parallel job.
struct RoleSpec {
  std::string name;
  std::vector<program::ProgramBuilder::Place> where;  ///< which ranks; empty for all
  ModelWork model;                                    ///< its units alone
  std::vector<ChunkSpec> chunks;                      ///< their numbers are those of the schedule
  Schedule schedule;
  std::int64_t stage = 0;
  std::optional<TiedCopy> tied = {};
};

/// The part of a model that a stage computes.
[[nodiscard]] ModelWork part_of(ModelWork const& model, UnitRange units);

/// Ranks that kernels of the model communicate among.
struct GroupSpec {
  std::string name;
  program::GridAxes along;
};

/// One step of a job, before it is written as operations.
struct StepSpec {
  std::vector<program::Grid> grids;
  std::vector<RoleSpec> roles;
  std::vector<RankGroups> sets;  ///< the ranks that share each parameter set (`Tensor::set`); the same in every role
  std::vector<GroupSpec> groups;
  Flops model_flops_per_micro_batch;  ///< of the whole model
  program::GridAxes pipeline;         ///< along which roles follow each other; empty where they do not
  /// Ranks that hold one copy of the model between them, where gradients are clipped by a norm over all of it.
  std::optional<program::GridAxes> model = {};
};

/// Writes every role: the passes of its schedule, what its strategy adds for each parameter set, and what it exchanges
/// with the stages before and after.
[[nodiscard]] program::StepProgram write_step(StepSpec spec, Plan const& plan);

}  // namespace twinstep::strategies
