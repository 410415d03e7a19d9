#include "validate/cuda/launch.hpp"

#include <cctype>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace twinstep::cuda {
namespace {

using Variable = std::function<std::optional<std::string>(std::string const&)>;

/// What one launcher sets.
struct Names {
  char const* process;
  char const* processes;
  char const* local_process;
  char const* job;
};

constexpr Names kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"}};

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

}  // namespace

Launch read_launch(Variable const& variable) {
  for (auto const& names : kLaunchers) {
    if (!variable(names.process)) continue;
    auto launch = Launch{.process = number(variable, names.process),
                         .processes = number(variable, names.processes),
                         .local_process = number(variable, names.local_process),
                         .job = variable(names.job).value_or("")};
    if (launch.process >= launch.processes)
      throw InputError{fmt::format("{}: found {}, expected less than the {} of {}; start with mpirun, srun or torchrun",
                                   names.process, launch.process, launch.processes, names.processes)};
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

}  // namespace twinstep::cuda
