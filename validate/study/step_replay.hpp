#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "explore/ask/scenario.hpp"
#include "explore/ask/software.hpp"
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
  explore::Scenario scenario;        ///< on a cluster with the record's software stack
  std::vector<std::string> near_to;  ///< what is replayed by something near: "FSDP by zero-3"
  std::vector<std::string> assumed;  ///< what the record does not say and the replay takes
};

/// The model, plan and machine of a record, by its words and numbers; or why there is none. The machine is the record's
/// physical facts, or `named` with as many nodes as the record's ranks fill.
[[nodiscard]] std::variant<StepReplay, NotReplayed> replay_of(validate::StepRecord const& record,
                                                              std::optional<hardware::Cluster> const& named);

// The parts of a replay, by the words and numbers of a step record.

/// Left by whatever finds that a record cannot be replayed.
struct Impossible {
  std::string reason;
};

/// The model that a step record describes. A CNN is a published one, by its name. Of a transformer a record does not
/// say everything: gated or plain MLP, tied or separate embeddings and learned or rotary positions are taken as the
/// record states them, else so that the number of parameters comes nearest to the record's. Throws Impossible where it
/// is neither, or lacks a size.
[[nodiscard]] strategies::ModelSpec model_of(validate::StepModel const& model);

/// What runs the record's step.
[[nodiscard]] explore::Software software_of(validate::StepRecord const& record);

struct StepPlan {
  strategies::Plan plan;
  std::vector<std::string> near_to;  ///< what is replayed by something near
  std::vector<std::string> assumed;  ///< what the record does not say and the replay takes
};

/// Throws Impossible.
[[nodiscard]] StepPlan plan_of(validate::StepRecord const& record);

}  // namespace twinstep::study
