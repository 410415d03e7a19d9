#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// How the processes of one job come to be, and how they find each other.
namespace twinstep::launch {

/// How this process was started: as one of `processes`, or alone.
struct Launch {
  int process = 0;
  int processes = 1;
  int local_process = 0;  ///< on its host
  std::string job;        ///< tells runs apart; empty where the launcher gives none
  /// Where the processes meet: a folder that all of them see, or "address:port" at which process 0 listens. Empty
  /// where nothing says it.
  std::string meeting_place;
};

/// The value of an environment variable, or nothing.
using Variable = std::function<std::optional<std::string>(std::string const& name)>;

/// Looks into this process's environment.
[[nodiscard]] std::optional<std::string> environment_variable(std::string const& name);

/// Reads what mpirun (OMPI_COMM_WORLD_*), srun (SLURM_*) or torchrun (RANK, WORLD_SIZE) set, in this order.
///
/// They meet in the folder TWINSTEP_STORE; else at MASTER_ADDR:MASTER_PORT, and one port higher where torchrun says
/// that its agent listens at that one (TORCHELASTIC_USE_AGENT_STORE); else, all on one host, on its port 29500. Throws
/// InputError where the variables contradict each other.
[[nodiscard]] Launch read_launch(Variable const& variable);

/// Hands `id` from process 0 to all others through a file that all of them see: process 0 passes its id, the others
/// pass an empty one and wait for the file. Throws InputError if it cannot be written, or is not there in time.
[[nodiscard]] std::vector<char> exchange_id(Launch const& launch, std::string const& file, std::vector<char> id);

/// Where that file lies: ".twinstep-meeting-JOB" in the folder in which the processes were started.
[[nodiscard]] std::string meeting_file(Launch const& launch);

}  // namespace twinstep::launch
