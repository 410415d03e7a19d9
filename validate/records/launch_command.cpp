#include "validate/records/launch_command.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "validate/records/log_words.hpp"

namespace twinstep::records {
namespace {

using Options = std::span<std::string_view const>;

/// Of "--nodes=2", "--nodes 2", "-N 2" or "-N2"; the last one wins.
std::optional<std::int64_t> number_of(Options words, std::initializer_list<std::string_view> options) {
  auto number = std::optional<std::int64_t>{};
  for (std::size_t i = 0; i < words.size(); ++i)
    for (auto const option : options) {
      if (!words[i].starts_with(option)) continue;
      auto value = words[i].substr(option.size());
      if (value.empty() && i + 1 < words.size()) value = words[i + 1];
      if (value.starts_with('=')) value.remove_prefix(1);
      constexpr std::int64_t kMost = 10'000'000;
      if (auto const found = whole_number<std::int64_t>(value); found && *found > 0 && *found <= kMost) number = found;
    }
  return number;
}

/// Of "ppr:8:node": processes on each node.
std::optional<std::int64_t> processes_per_resource(std::string_view word) {
  constexpr std::string_view kMark = "ppr:";
  if (!word.starts_with(kMark) || word.find(":node") == std::string_view::npos) return std::nullopt;
  return leading_number<std::int64_t>(word.substr(kMark.size()));
}

/// Hosts and slots of "a:8,b:8"; a host without a number has one.
struct Hosts {
  std::int64_t hosts = 0;
  std::int64_t slots = 0;
};
Hosts hosts_in(std::string_view list) {
  auto found = Hosts{};
  while (!list.empty()) {
    auto const host = list.substr(0, list.find(','));
    auto const slots = host.find(':') == host.npos ? 1 : whole_number<std::int64_t>(host.substr(host.find(':') + 1));
    ++found.hosts;
    found.slots += slots.value_or(1);
    list.remove_prefix(std::min(host.size() + 1, list.size()));
  }
  return found;
}

/// What mpirun and mpiexec are told: ranks, ranks of a node, or hosts with slots, of which each has a rank where no
/// number is given.
void read_mpi(Options launcher, LaunchCommand& command) {
  constexpr auto kHosts = std::to_array<std::string_view>({"-H", "-host", "--host", "-hosts"});
  command.processes = number_of(launcher, {"-np", "--np", "-n", "-c"});
  auto of_node = number_of(launcher, {"-N", "-npernode", "--npernode", "-ppn", "-perhost"});
  auto hosts = Hosts{};
  for (std::size_t i = 0; i + 1 < launcher.size(); ++i) {
    if (auto const found = processes_per_resource(launcher[i + 1])) of_node = found;
    if (std::ranges::find(kHosts, launcher[i]) != kHosts.end()) hosts = hosts_in(launcher[i + 1]);
  }
  if (hosts.hosts > 0) command.nodes = hosts.hosts;
  if (!command.processes && hosts.hosts > 0) command.processes = of_node ? hosts.hosts * *of_node : hosts.slots;
  if (command.processes && of_node && *of_node > 0 && *command.processes % *of_node == 0)
    command.nodes = *command.processes / *of_node;
}

void read_slurm(Options launcher, LaunchCommand& command) {
  command.nodes = number_of(launcher, {"--nodes", "-N"});
  command.processes = number_of(launcher, {"--ntasks", "-n"});
  auto const of_node = number_of(launcher, {"--ntasks-per-node"});
  if (!command.processes && of_node) command.processes = command.nodes.value_or(1) * *of_node;
}

/// jsrun's resource sets, each of so many tasks.
void read_jsrun(Options launcher, LaunchCommand& command) {
  auto const sets = number_of(launcher, {"--nrs", "-n"});
  if (sets) command.processes = *sets * number_of(launcher, {"--tasks_per_rs", "-a"}).value_or(1);
}

bool ends_with_any(std::string_view word, std::span<std::string_view const> endings) {
  return std::ranges::any_of(endings, [word](std::string_view ending) { return word.ends_with(ending); });
}

}  // namespace

std::optional<std::int64_t> LaunchCommand::ranks() const {
  if (processes) return *processes * ranks_per_process;
  return ranks_per_process > 1 ? std::optional{ranks_per_process} : std::nullopt;
}

std::optional<LaunchCommand> read_launch_command(std::vector<std::string_view> const& words) {
  constexpr auto kMpi = std::to_array<std::string_view>({"mpirun", "mpiexec", "orterun", "prterun"});
  auto const program = std::ranges::find_if(words, [](auto word) { return word.ends_with("_perf"); });
  if (program == words.end()) return std::nullopt;
  auto command = LaunchCommand{};
  auto const launcher = Options{words.begin(), program};
  auto const options = Options{program, words.end()};
  command.ranks_per_process =
      number_of(options, {"-t", "--nthreads"}).value_or(1) * number_of(options, {"-g", "--ngpus"}).value_or(1);
  for (auto const word : launcher) {
    if (ends_with_any(word, kMpi))
      read_mpi(launcher, command);
    else if (word.ends_with("jsrun"))
      read_jsrun(launcher, command);
    else if (word.ends_with("srun"))
      read_slurm(launcher, command);
  }
  return command;
}

}  // namespace twinstep::records
