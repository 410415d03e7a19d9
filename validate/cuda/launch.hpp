#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::cuda {

/// How this process was started: as one of `processes`, or alone.
struct Launch {
  int process = 0;
  int processes = 1;
  int local_process = 0;  ///< on its host
  std::string job;        ///< tells runs apart; empty where the launcher gives none
};

/// Reads what mpirun (OMPI_COMM_WORLD_*), srun (SLURM_*) or torchrun (RANK, WORLD_SIZE) set, in this order.
/// @param variable  the value of an environment variable, or nothing
/// Throws InputError where the variables contradict each other.
[[nodiscard]] Launch read_launch(std::function<std::optional<std::string>(std::string const&)> const& variable);

/// Hands `id` from process 0 to all others through a file that all of them see: process 0 passes its id, the others
/// pass an empty one and wait for the file. Throws InputError if it cannot be written, or is not there in time.
[[nodiscard]] std::vector<char> exchange_id(Launch const& launch, std::string const& file, std::vector<char> id);

/// Where that file lies: ".twinstep-meeting-JOB" in the folder in which the processes were started.
[[nodiscard]] std::string meeting_file(Launch const& launch);

}  // namespace twinstep::cuda
