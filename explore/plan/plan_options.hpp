#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace twinstep::explore::plan {

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

}  // namespace twinstep::explore::plan
