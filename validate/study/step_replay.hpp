#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/hardware/cluster.hpp"
#include "strategies/model/model_spec.hpp"
#include "strategies/plan/plan.hpp"
#include "validate/records/step_record.hpp"

namespace twinstep::study {

/// Why something cannot be replayed: "tensor parallelism: 8". What stands before a colon is the kind of reason.
struct NotReplayed {
  std::string reason;
};

/// A step record as a question to the simulator.
struct StepReplay {
  strategies::ModelSpec model;
  strategies::Plan plan;
  hardware::Cluster cluster;         ///< with the record's software stack
  std::vector<std::string> near_to;  ///< what is replayed by something near: "FSDP by zero-3"
  std::vector<std::string> assumed;  ///< what the record does not say and the replay takes
};

/// The model, plan and machine of a record, by its words and numbers; or why there is none. The machine is the record's
/// physical facts, or `named` with as many nodes as the record's ranks fill.
[[nodiscard]] std::variant<StepReplay, NotReplayed> replay_of(validate::StepRecord const& record,
                                                              std::optional<hardware::Cluster> const& named);

}  // namespace twinstep::study
