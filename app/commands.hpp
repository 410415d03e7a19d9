#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The subcommands, one file each. Each prints its answer on standard output and gives the exit code.
namespace twinstep::app {

/// What the program returns (docs/asking.md, "Exit codes").
enum ExitCode : int { kDone = 0, kGateMissed = 1, kInputWrong = 2, kSomethingAbsent = 3, kOurBug = 4 };

struct SimulateOptions {
  std::string scenario;
  std::vector<std::string> settings;  ///< "path=value"
  std::string fidelity = "folded";    ///< an engine::Fidelity
  bool as_json = false;
  std::optional<std::string> trace;   ///< file for the timeline
  std::optional<std::string> report;  ///< file for the page of the scenario
  bool why = false;                   ///< say what the step waits for and what would help
};
int simulate(SimulateOptions const& options);

struct ReportOptions {
  std::vector<std::string> results;   ///< scenarios, sweeps, timelines, plans, …: one page of all
  std::vector<std::string> settings;  ///< "path=value", of the scenarios
  std::optional<std::string> out;     ///< in the form that its name tells, HTML where it tells none
  std::optional<std::string> markdown;
  std::optional<std::string> csv;
  std::optional<std::string> json;
  bool as_text = false;  ///< on standard output; also where no file is named
};
int report(ReportOptions const& options);

inline constexpr std::int64_t kMostPoints = 1'000'000'000'000'000;  ///< that a sweep may be allowed to have

struct SweepOptions {
  std::string sweep;                 ///< the sweep; without `out` a results file
  std::optional<std::string> out;    ///< the results file
  bool resumes = false;              ///< goes on with `out` where it is there
  std::optional<std::int64_t> jobs;  ///< threads of this process; all cores without
  std::int64_t max_points = 1'000'000;
  std::string fidelity = "folded";  ///< an engine::Fidelity
  bool skips_allocator = false;     ///< memory without what the caching allocator holds beyond what is allocated
  std::optional<std::string> csv;   ///< files for all rows, in the end
  std::optional<std::string> jsonl;
  bool as_json = false;
};
int run_sweep(SweepOptions const& options);

struct PlanOptions {
  std::string scenario;
  std::vector<std::string> settings;    ///< "path=value"
  std::vector<std::string> clusters;    ///< in place of the scenario's
  std::vector<std::string> strategies;  ///< all without
  std::optional<std::string> gpus;      ///< "64..4096"; the cluster's without
  std::optional<std::string> tokens;
  std::optional<std::string> deadline;
  std::optional<std::string> budget;
  std::optional<std::string> energy;    ///< "2 GWh"
  std::optional<std::string> headroom;  ///< "5 %"
  std::vector<std::string> what_if;     ///< "path=value,path=value", each by itself
  std::vector<std::string> prices;      ///< one, or one for each cluster
  std::optional<std::string> power;
  std::optional<double> pue;
  std::optional<std::string> mtbf;
  std::optional<std::string> checkpoint;
  std::optional<std::string> restart;
  std::optional<std::string> critical_batch;
  std::int64_t top = 10;
  bool as_json = false;
};
int plan_training(PlanOptions const& options);

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
  enum class Source {
    kNcclTopology,
    kNvidiaSmi,
    kNcclTests,
    kKineto,
    kStepTimes,
    kDeepSpeed,
    kAccelerate,
    kTorchtitan,
    kMegatron,
    kHfConfig
  } source = Source::kNcclTopology;
  std::vector<std::string> files;     ///< traces and step times: one for each rank; otherwise one
  std::optional<std::string> out;     ///< standard output without
  std::string gpu;                    ///< profile of a node's GPUs; by what the dump says without
  bool repairs = false;               ///< leave out what cannot be instead of refusing it
  std::optional<std::int64_t> ranks;  ///< of a log of nccl-tests that does not say
  std::optional<std::int64_t> step;   ///< ProfilerStep# of a trace; the one of median length without
};
int import_file(ImportOptions const& options);

struct CollectiveOptions {
  std::string cluster;
  std::vector<std::string> settings;  ///< "cluster.nodes=16"
  std::string op = "all_reduce";
  std::optional<std::int64_t> ranks;  ///< all GPUs of the cluster without
  std::string smallest = "8";
  std::string largest = "1G";
  std::int64_t factor = 2;
  std::string type = "fp32";
  std::string reduction = "sum";
  std::optional<std::string> algorithm;
  std::optional<std::string> protocol;
  std::string fidelity = "folded";
  std::string launcher = "process-per-gpu";
  bool explains = false;
  bool as_json = false;
};
int collective(CollectiveOptions const& options);

struct CalibrateOptions {
  std::string cluster;                ///< the profile to begin with
  std::vector<std::string> files;     ///< measurements of that cluster
  std::string out;                    ///< the calibrated profile
  std::optional<std::int64_t> ranks;  ///< of logs that do not say
  bool as_json = false;
};
int calibrate(CalibrateOptions const& options);

struct ValidateOptions {
  std::vector<std::string> files;      ///< records, or logs of nccl-tests
  std::optional<std::string> cluster;  ///< the machine of all records; their own facts without
  std::optional<std::int64_t> ranks;   ///< of logs that do not say
  bool leaves_out = false;             ///< every system is predicted by constants fitted without it
  bool shows_constants = false;        ///< what the fits found, instead of the errors
  bool cross_validates = false;        ///< every system is calibrated to parts of its own measurements too
  std::optional<double> max_mape;      ///< exit code 1 above this mean error, in per cent
  bool as_json = false;
};
int validate_collectives(ValidateOptions const& options);

struct ValidateStepsOptions {
  std::vector<std::string> files;      ///< records of training steps
  std::optional<std::string> cluster;  ///< the machine of all records; their own facts without
  std::optional<double> max_mape;      ///< exit code 1 above this mean error of speeds, in per cent
  bool as_json = false;
};
int validate_steps(ValidateStepsOptions const& options);

}  // namespace twinstep::app
