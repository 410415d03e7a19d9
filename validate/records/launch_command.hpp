#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace twinstep::records {

/// What the command that started a program of nccl-tests says about its ranks.
struct LaunchCommand {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> processes;
  std::int64_t ranks_per_process = 1;

  [[nodiscard]] std::optional<std::int64_t> ranks() const;
};

/// Reads a line such as "srun --nodes=2 --ntasks-per-node=4 ./all_reduce_perf -g 1" or "mpirun -np 16 …"; nothing for
/// another line. Sources: man srun (-n, -N, --ntasks-per-node), man mpirun (-n, -np, -c, -N, --map-by ppr:8:node, and
/// the slots of --host a:8,b:8 where no number is given), man mpiexec of MPICH (-ppn), man jsrun (-n sets of -a tasks),
/// nccl-tests' README (-t threads of -g GPUs are ranks each).
[[nodiscard]] std::optional<LaunchCommand> read_launch_command(std::vector<std::string_view> const& words);

}  // namespace twinstep::records
