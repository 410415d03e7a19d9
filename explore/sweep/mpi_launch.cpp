#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "explore/sweep/mpi_job.hpp"

namespace twinstep::explore::sweep {

bool is_started_by_mpi(Variable const& variable) {
  // Open MPI's mpirun; what starts by PMIx (srun --mpi=pmix); MPICH's mpiexec and srun --mpi=pmi2.
  constexpr auto kNames = std::to_array<char const*>({"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"});
  return std::ranges::any_of(kNames, [&variable](char const* name) { return variable(name).has_value(); });
}

std::optional<std::string> why_not_together(Variable const& variable) {
  if (is_started_by_mpi(variable)) return std::nullopt;
  // A batch script has SLURM_NTASKS too; only srun's tasks have the number of their step.
  auto const tasks = variable("SLURM_STEP_NUM_TASKS").value_or("1");
  auto const task = variable("SLURM_PROCID").value_or("0");
  if (tasks == "1" && task == "0") return std::nullopt;
  return fmt::format(
      "found task {} of {} that srun started without MPI, expected processes that know each other; start them with "
      "mpirun, or with srun --mpi=pmix",
      task, variable("SLURM_NTASKS").value_or(tasks));
}

}  // namespace twinstep::explore::sweep
