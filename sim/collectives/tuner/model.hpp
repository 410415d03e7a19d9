#pragma once

#include "sim/collectives/tuner/tuner.hpp"

/// NCCL's cost model: latency + size / bandwidth (NVIDIA/nccl, src/graph/tuning.cc, ncclTopoTuneModel).
namespace twinstep::collectives::tuner {

struct Prediction {
  double latency = 0;    ///< seconds
  double bandwidth = 0;  ///< algorithm bandwidth in bytes a second; 0 where the machine has no such channels
};

/// What the model predicts of one combination, at the size of the request. Cost O(1).
[[nodiscard]] Prediction predict(TunerRequest const& request, hardware::Algorithm algorithm,
                                 hardware::Protocol protocol);

/// Channels that carry a collective of this size (src/enqueue.cc: topoGetAlgoInfo, scheduleCollTasksToPlan).
[[nodiscard]] std::int64_t channels_used(TunerRequest const& request, hardware::Algorithm algorithm,
                                         hardware::Protocol protocol);

/// Why a combination that NCCL has for this collective cannot run it here; "" if it can.
[[nodiscard]] std::string_view why_off(TunerRequest const& request, hardware::Algorithm algorithm,
                                       hardware::Protocol protocol);

}  // namespace twinstep::collectives::tuner
