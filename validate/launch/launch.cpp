#include "validate/launch/launch.hpp"

#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::launch {
namespace {

/// What one launcher sets.
struct Names {
  char const* process;
  char const* processes;
  char const* local_process;
  char const* local_processes;
  char const* job;
};

constexpr Names kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "PMIX_NAMESPACE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_ID"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"}};

constexpr auto kUsualPort = 29500;  // torch.distributed's default

int number(Variable const& variable, char const* name) {
  auto const text = variable(name);
  if (!text)
    throw InputError{
        fmt::format("{} is not set, expected it beside the launcher's others; start with mpirun, srun "
                    "or torchrun",
                    name)};
  auto value = 0;
  auto const* const end = text->data() + text->size();
  auto const result = std::from_chars(text->data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end || value < 0)
    throw InputError{fmt::format("{}: found {}, expected a whole number; start with mpirun, srun or torchrun", name,
                                 twinstep::quoted(*text))};
  return value;
}

std::string meeting_place(Variable const& variable, bool is_on_one_host) {
  if (auto folder = variable("TWINSTEP_STORE")) return std::move(*folder);
  auto const address = variable("MASTER_ADDR");
  if (!address && !is_on_one_host) return {};
  auto port = variable("MASTER_PORT") ? number(variable, "MASTER_PORT") : kUsualPort;
  if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True") ++port;
  return fmt::format("{}:{}", address.value_or("127.0.0.1"), port);
}

}  // namespace

std::optional<std::string> environment_variable(std::string const& name) {
  auto const* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

Launch read_launch(Variable const& variable) {
  for (auto const& names : kLaunchers) {
    if (!variable(names.process)) continue;
    auto launch = Launch{.process = number(variable, names.process),
                         .processes = number(variable, names.processes),
                         .local_process = number(variable, names.local_process),
                         .job = variable(names.job).value_or(""),
                         .meeting_place = {}};
    if (launch.process >= launch.processes)
      throw InputError{fmt::format("{}: found {}, expected less than the {} of {}; start with mpirun, srun or torchrun",
                                   names.process, launch.process, launch.processes, names.processes)};
    auto const all_here = variable(names.local_processes) == variable(names.processes);
    launch.meeting_place = meeting_place(variable, all_here);
    return launch;
  }
  return {};
}

std::string meeting_file(Launch const& launch) {
  auto file = std::string{".twinstep-meeting"};
  if (!launch.job.empty()) file += '-';
  for (auto const c : launch.job) file += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return file;
}

std::vector<char> exchange_id(Launch const& launch, std::string const& file, std::vector<char> id) {
  if (launch.process == 0) {
    // Under another name first: who sees the file sees all of it.
    auto const temporary = file + ".tmp";
    auto out = std::ofstream{temporary, std::ios::binary};
    out.write(id.data(), static_cast<std::streamsize>(id.size()));
    out.close();
    auto error = std::error_code{};
    std::filesystem::rename(temporary, file, error);
    if (!out || error)
      throw InputError{fmt::format("{}: cannot be written; start in a folder that all processes see", one_line(file))};
    return id;
  }
  constexpr auto kPatience = std::chrono::seconds{60};
  constexpr auto kPause = std::chrono::milliseconds{20};
  for (auto const give_up = std::chrono::steady_clock::now() + kPatience; std::chrono::steady_clock::now() < give_up;) {
    auto in = std::ifstream{file, std::ios::binary};
    if (in) return {std::istreambuf_iterator<char>{in}, {}};
    std::this_thread::sleep_for(kPause);
  }
  throw InputError{
      fmt::format("{}: not there after a minute, expected process 0 to write it; start all processes in one "
                  "folder that all of them see",
                  one_line(file))};
}

}  // namespace twinstep::launch
