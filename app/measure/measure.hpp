#pragma once

#include <optional>
#include <string>
#include <vector>

/// `twinstep measure`: options, and one function for each of its subcommands, which print and give the exit code.
namespace twinstep::app {

/// What all measurements have in common.
struct MeasureOptions {
  std::string backend;
  std::optional<int> ranks;  ///< gloo: started here; what a launcher started without
  std::optional<int> gpus;   ///< nccl: of this process; all of them where it was started alone
  double precision = 2;      ///< of a median, in per cent
  double max_time = 2;       ///< of one point, in seconds
  int iterations = 20;       ///< of a batch, at least 1
  int warm_up = 5;           ///< before them
  bool as_json = false;
  std::optional<std::string> out;      ///< file for the records
  std::optional<std::string> cluster;  ///< physical facts for the records, a JSON object
  std::string system;                  ///< what the records call the machine; the device's name without
};

struct MeasureCollectiveOptions {
  MeasureOptions common;
  std::string op = "all_reduce";
  std::optional<std::string> beside;  ///< another one, at the same time
  std::string smallest = "8";         ///< sizes as nccl-tests spells them
  std::string largest = "128M";
  std::int64_t factor = 2;  ///< at least 2
  std::string type = "fp32";
  std::string reduction = "sum";
};
int measure_collective(MeasureCollectiveOptions const& options);

struct MeasureComputeOptions {
  MeasureOptions common;
  std::string type;                   ///< the backend's usual one without
  std::optional<std::string> shapes;  ///< "m,n,k;…"
  std::optional<std::string> like;    ///< a scenario, whose kernels are measured
  std::optional<std::string> beside;  ///< a collective that runs at the same time
  std::string beside_size = "16M";
};
int measure_compute(MeasureComputeOptions const& options);

struct MeasureCopyOptions {
  MeasureOptions common;
  std::string smallest = "4K";
  std::string largest = "256M";
};
int measure_copy(MeasureCopyOptions const& options);

struct MeasureStepOptions {
  MeasureOptions common;
  std::string scenario;
  std::vector<std::string> settings;  ///< "path=value"
  int steps = 5;
  int warm_up = 1;
  std::string compute = "real";      ///< or "delays"
  std::optional<std::string> trace;  ///< file for the timeline of the median step
};
int measure_step(MeasureStepOptions const& options);

}  // namespace twinstep::app
