#include "validate/measure/gpu_ranks.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::measure {
namespace {

cuda::Ranks ranks_of(launch::Launch const& launch, std::optional<int> gpus, int devices) {
  auto const local_ranks = gpus.value_or(launch.processes > 1 ? 1 : devices);
  auto const first_device = launch.local_process * local_ranks;
  if (first_device + local_ranks > devices)
    throw InputError{fmt::format("-g {}: found {} GPUs, expected {} for this host's processes; lower it or start fewer",
                                 local_ranks, devices, first_device + local_ranks)};
  return {.world = launch.processes * local_ranks,
          .local_ranks = local_ranks,
          .first_rank = launch.process * local_ranks,
          .first_device = first_device};
}

int ranks_per_node(cuda::Ranks const& ranks, launch::Launch const& launch) {
  if (launch.processes == 1) return ranks.world;
  for (auto const* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE", "LOCAL_WORLD_SIZE"})
    if (auto const processes = launch::environment_variable(name))
      if (auto const count = std::atoi(processes->c_str()); count > 0) return count * ranks.local_ranks;
  return ranks.local_ranks;
}

}  // namespace

cuda::Connection connect_gpus(cuda::DeviceApi& device, launch::Launch const& launch, std::optional<int> gpus) {
  auto const ranks = ranks_of(launch, gpus, device.device_count());
  if (launch.processes == 1) return cuda::connect(device, ranks, {});
  auto const file = launch::meeting_file(launch);
  auto id = launch.process == 0 ? device.make_meeting_id() : std::vector<char>{};
  auto connection = cuda::connect(device, ranks, launch::exchange_id(launch, file, std::move(id)));
  auto error = std::error_code{};
  if (launch.process == 0) std::filesystem::remove(file, error);  // all have read it: they are connected
  return connection;
}

Job job_on_gpus(cuda::DeviceApi& device, cuda::Connection const& connection, launch::Launch const& launch) {
  auto const& ranks = connection.ranks;
  return {.ranks = ranks.world,
          .ranks_per_node = ranks_per_node(ranks, launch),
          .is_first_process = ranks.first_rank == 0,
          .backend = "nccl",
          .library = "NCCL " + device.library_version(),
          .device = device.facts(ranks.first_device).name};
}

}  // namespace twinstep::measure
