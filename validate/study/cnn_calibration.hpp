#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validate/study/step_replay.hpp"

namespace twinstep::study {

/// What measured steps of convolutional networks say about each other. Which kernels a library chooses for a
/// convolution no step record says; so a network's compute is taken from its own row on one GPU without DDP, or else
/// from ResNet-50's, or else from the GPU's profile. What replicas cost beside their kernels and
/// traffic, their waits for the slowest of them, is one factor for each type of GPU, from the rows of ResNet-50 with
/// DDP on several. Everything else is predicted. Source of the protocol: the suite's own baseline is the row without
/// DDP (pytorch, benchmarks/distributed/ddp/README.md).
class CnnCalibration {
 public:
  /// Costs up to four simulated steps for each row on one GPU without DDP, and one for each of ResNet-50's.
  CnnCalibration(std::vector<validate::StepRecord> const& records, std::optional<hardware::Cluster> const& named);

  struct Factors {
    double compute = 1;   ///< on the time of the model's kernels
    double replicas = 1;  ///< on the step of several replicas
    bool has_seen = false;
    std::vector<std::string> notes;
  };
  [[nodiscard]] Factors factors_of(validate::StepRecord const& record, StepReplay const& replay) const;

 private:
  /// The family, the GPU and the model.
  using Key = std::array<std::string, 3>;
  [[nodiscard]] static Key key_of(validate::StepRecord const& record, StepReplay const& replay, std::string model);
  void fit_compute(validate::StepRecord const& record, StepReplay const& replay);
  void fit_replicas(validate::StepRecord const& record, StepReplay const& replay);

  std::map<Key, double> compute_;
  std::map<Key, std::vector<double>> replicas_;  // logarithms of measured / simulated, by row
};

/// `scenario` with the model's kernels taking `factor` times as long.
[[nodiscard]] explore::Scenario with_compute(explore::Scenario scenario, double factor);

}  // namespace twinstep::study
