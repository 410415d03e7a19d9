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
  constexpr auto kSlurm = std::to_array<std::string_view>({"srun"});
  auto const program = std::ranges::find_if(words, [](auto word) { return word.ends_with("_perf"); });
  if (program == words.end()) return std::nullopt;
  auto command = LaunchCommand{};
  auto const launcher = Options{words.begin(), program};
  auto const options = Options{program, words.end()};
  command.ranks_per_process =
      number_of(options, {"-t", "--nthreads"}).value_or(1) * number_of(options, {"-g", "--ngpus"}).value_or(1);
  for (auto const word : launcher) {
    if (ends_with_any(word, kMpi)) command.processes = number_of(launcher, {"-np", "--np", "-n", "-c"});
    if (!ends_with_any(word, kSlurm)) continue;
    command.nodes = number_of(launcher, {"--nodes", "-N"});
    command.processes = number_of(launcher, {"--ntasks", "-n"});
    auto const of_node = number_of(launcher, {"--ntasks-per-node"});
    if (!command.processes && of_node) command.processes = command.nodes.value_or(1) * *of_node;
  }
  return command;
}

}  // namespace twinstep::records
