#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/io/change.hpp"

namespace twinstep::reports {

/// One change to a scenario, simulated by itself.
struct Change {
  std::string name;                 ///< in words: "fsdp2 in place of zero-1"
  std::vector<io::Change> changes;  ///< of the scenario, which make it
  bool is_hardware = false;
  Duration step_time;
  bool fits = true;
};

/// Something that a scenario leaves open and the program settled, and what the answer would be otherwise.
struct Assumption {
  std::string what;       ///< "attention is one fused kernel"
  io::Change otherwise;   ///< what says the contrary
  Duration step_time;     ///< then
  double throughput = 1;  ///< then, over the answer's
};

/// Why a step takes as long as it does.
struct Why {
  std::string title;  ///< of the scenario
  Duration step_time;
  /// The same step with communication free: what people measure by hand with no_sync, or with collectives replaced by
  /// nothing. The difference is the exposed communication, slowed kernels included.
  Duration without_communication;
  std::vector<Change> changes;          ///< those that help and fit, the best first
  std::vector<Assumption> assumptions;  ///< the strongest first

  [[nodiscard]] Duration communication() const { return step_time - without_communication; }
};

}  // namespace twinstep::reports
