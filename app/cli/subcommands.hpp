#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace CLI {
class App;
}

/// The options of each subcommand: declared here, read into what `app/commands.hpp` takes.
namespace twinstep::app {

constexpr auto kFidelityHelp =
    "How closely the network is followed: exact (every\nmessage is an event), folded or closed (folded)";
constexpr auto kRanksHelp = "How many took part, where a log does not say";
constexpr std::int64_t kMostRanksOfLog = 1 << 20;
constexpr auto kOpHelp = "all_reduce (default), all_gather, reduce_scatter,\nbroadcast, all_to_all, …";

/// Each adds the options of one subcommand to `command`, which leaves what the program returns in `exit_code`.
void add_simulate(CLI::App& command, int& exit_code);
void add_report(CLI::App& command, int& exit_code);
void add_sweep(CLI::App& command, int& exit_code);
void add_plan(CLI::App& command, int& exit_code);
void add_compare(CLI::App& command, int& exit_code);
void add_profiles(CLI::App& command, int& exit_code);
void add_collective(CLI::App& command, int& exit_code);
void add_validate(CLI::App& command, int& exit_code);
void add_calibrate(CLI::App& command, int& exit_code);
void add_import(CLI::App& command, int& exit_code);
void add_measure(CLI::App& command, int& exit_code);
void add_completion(CLI::App& command, int& exit_code);
void add_man(CLI::App& command, int& exit_code);

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  void (*add_options)(CLI::App& command, int& exit_code);
};

/// All of them, as the help lists them.
inline constexpr auto kSubcommands = std::to_array<Subcommand>({
    {"simulate", "Predict one training step: time, memory, waiting", add_simulate},
    {"report", "Make a page of results: charts, tables, reasons", add_report},
    {"sweep", "Predict many steps, on all cores and machines", add_sweep},
    {"plan", "Find the plans that fit: speed, days, cost", add_plan},
    {"compare", "Lay two timelines side by side, span by span", add_compare},
    {"profiles", "The machines that the program knows", add_profiles},
    {"collective", "Predict one collective, in nccl-tests' columns", add_collective},
    {"validate", "Lay predictions beside measurements", add_validate},
    {"calibrate", "Fit a cluster's profile to measurements of it", add_calibrate},
    {"import", "Turn dumps, logs and traces into what we read", add_import},
    {"measure", "Measure on this machine what would be predicted", add_measure},
    {"completion", "Print what completes commands in a shell", add_completion},
    {"man", "Print the manual page, for `man -l -`", add_man},
});

}  // namespace twinstep::app
