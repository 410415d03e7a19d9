#pragma once

#include <string>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "sim/io/document.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"

namespace twinstep::explore {

/// One question: this model, trained by this plan, on this cluster.
struct Scenario {
  hardware::Cluster cluster;
  strategies::ModelSpec model;
  strategies::Plan plan;
  std::vector<std::string> warnings;
  bool network_is_free = false;    ///< communication takes no time: the experiment that tells what it costs
  bool is_one_of_several = false;  ///< "strategy" is a list
  std::string strategy_title;      ///< "zero-3 + recompute": the row of a table; no two scenarios of a file share it

  /// "llama-2-7b, zero-3 + recompute, 32 ranks on 4 × dgx-h100 (dgx-h100-ndr)"
  [[nodiscard]] std::string title() const;
};

/// Reads a scenario file with the settings of the command line in place of its own values. Its "strategy" may be a
/// list: one scenario for each. explore/ask/schema/scenario.schema.json describes the form. Throws InputError.
[[nodiscard]] std::vector<Scenario> read_scenarios(std::string const& path, std::vector<std::string> const& settings);

/// The steps of it, for who asks many questions that share their cluster or model: documents with all settings in
/// place, whose own files are looked for in `directory`. Each throws InputError.
void check_scenario_keys(io::Node const& document);
[[nodiscard]] hardware::Cluster read_scenario_cluster(io::Node const& document, std::vector<std::string>& warnings);
[[nodiscard]] strategies::ModelSpec read_scenario_model(io::Node const& document, std::string const& directory,
                                                        std::vector<std::string>& warnings);
/// The rest of the document beside the cluster and the model of `common`: one scenario for each strategy.
[[nodiscard]] std::vector<Scenario> read_scenarios(io::Node const& document, std::string const& directory,
                                                   Scenario common);

}  // namespace twinstep::explore
