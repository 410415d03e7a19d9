#pragma once

#include <string_view>

namespace CLI {
class App;
}

/// The options of each subcommand: declared here, read into what `app/commands.hpp` takes.
namespace twinstep::app {

constexpr auto kFidelityHelp =
    "How closely the network is followed: exact (every\nmessage is an event), folded or closed (folded)";
constexpr auto kOpHelp = "all_reduce (default), all_gather, reduce_scatter,\nbroadcast, all_to_all, …";

/// Each adds one subcommand, which leaves what the program returns in `exit_code`.
void add_simulate(CLI::App& program, int& exit_code);
void add_report(CLI::App& program, int& exit_code);
void add_sweep(CLI::App& program, int& exit_code);
void add_plan(CLI::App& program, int& exit_code);
void add_compare(CLI::App& program, int& exit_code);
void add_profiles(CLI::App& program, int& exit_code);
void add_import(CLI::App& program, int& exit_code);
void add_measure(CLI::App& program, int& exit_code);
void add_collective(CLI::App& program, int& exit_code);
void add_calibrate(CLI::App& program, int& exit_code);
void add_validate(CLI::App& program, int& exit_code);

}  // namespace twinstep::app
