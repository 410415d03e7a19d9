#pragma once

#include <optional>
#include <string>
#include <vector>

/// The subcommands, one file each. Each prints its answer on standard output and gives the exit code.
namespace twinstep::app {

/// What the program returns (see the README).
enum ExitCode : int { kDone = 0, kGateMissed = 1, kInputWrong = 2, kSomethingAbsent = 3, kOurBug = 4 };

struct SimulateOptions {
  std::string scenario;
  std::vector<std::string> settings;  ///< "path=value"
  std::string fidelity = "folded";    ///< ranks that are alike are simulated once
  bool as_json = false;
  std::optional<std::string> trace;  ///< file for the timeline
};
int simulate(SimulateOptions const& options);

struct CompareOptions {
  std::string a;
  std::string b;
  bool as_json = false;
};
int compare(CompareOptions const& options);

struct ProfilesOptions {
  enum class Action { kList, kShow, kCheck } action = Action::kList;
  std::vector<std::string> names;  ///< to show: profiles; to check: profiles or files, all shipped ones if empty
};
int profiles(ProfilesOptions const& options);

struct ImportOptions {
  enum class Source { kNcclTopology, kNvidiaSmi, kNcclTests } source = Source::kNcclTopology;
  std::string file;
  std::optional<std::string> out;  ///< standard output without
  std::string gpu;                 ///< profile of a node's GPUs; by what the dump says without
  bool repairs = false;            ///< leave out what cannot be instead of refusing it
};
int import_file(ImportOptions const& options);

}  // namespace twinstep::app
