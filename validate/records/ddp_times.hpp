#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/io/document.hpp"

/// Step times that people log while they train: tables of their own, and PyTorch's DDP benchmark.
namespace twinstep::records {

/// The steps of one run.
struct StepTimes {
  std::string id;
  std::string model;  ///< "resnet50"; "" if the file does not say
  std::int64_t ranks = 1;
  std::optional<std::int64_t> micro_batch;
  std::vector<Seconds> steps;  ///< each by its slowest rank, without warm-up; empty where only percentiles are printed
  std::int64_t warm_up = 0;    ///< steps that were left out
  std::optional<Seconds> p10, p50, p90;
};

/// Reads one of
///   - CSV files, one for each rank or one with a column "rank": the first line names the columns, "step" (or
///     "iteration"), a time with its unit ("time_s", "time_ms", "time_us", or "step_time_s", …), and perhaps "rank";
///     others are skipped, and so are empty lines and such that begin with "#". A step is as long as its slowest rank.
///     Left out as warm-up are the steps at the beginning that are longer than 1.2 times the median;
///   - what pytorch/benchmarks/distributed/ddp/benchmark.py writes with --json, or prints; it leaves out its warm-up.
/// Throws InputError for anything else, for times that are not above zero, and where ranks have different steps.
[[nodiscard]] std::vector<StepTimes> read_step_times(std::vector<io::Source> const& files);

/// The CSV form of it.
[[nodiscard]] StepTimes read_step_csv(std::vector<io::Source> const& files);

/// The runs as step records ("measurement": "step"): "measured" has step_time_s (the median), step_time_p10_s,
/// step_time_p90_s, steps and warm_up_steps; null where the file does not say.
[[nodiscard]] std::string step_records_json(std::vector<StepTimes> const& runs);

/// The value below which a fraction `p` of the values lies, linear between neighbours as numpy does it. Requires
/// values.
[[nodiscard]] Seconds percentile(std::vector<Seconds> values, double p);

}  // namespace twinstep::records
