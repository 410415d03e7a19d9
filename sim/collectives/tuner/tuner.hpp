#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/data_type.hpp"
#include "sim/collectives/tuner/environment.hpp"
#include "sim/collectives/tuner/graph.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/program/kinds.hpp"

/// Which algorithm and protocol NCCL would choose, and what it believes that they cost.
namespace twinstep::collectives::tuner {

/// One collective on one communicator. Refers to its graph, environment and cluster, which outlive it.
struct TunerRequest {
  CollectiveKind kind{};
  Bytes size;  ///< the large side: all_gather and reduce_scatter count every rank's part
  program::Reduction reduction = program::Reduction::kSum;
  DataType type = DataType::kBf16;
  Graph const& graph;
  Environment const& environment;
  hardware::Cluster const& cluster;
};

/// One row of NCCL's table: what it predicts of an algorithm with a protocol.
struct Tuned {
  hardware::Algorithm algorithm{};
  hardware::Protocol protocol{};
  std::int64_t channels = 0;     ///< that run it, each on one SM
  Duration latency;              ///< of the prediction latency + size / bandwidth
  BytesPerSecond bandwidth;      ///< algorithm bandwidth
  Duration time;                 ///< their sum
  std::string_view off_because;  ///< why it cannot run; "" if it can

  [[nodiscard]] bool is_on() const { return off_because.empty(); }
};

/// Every combination that NCCL has for this collective, in the order of its tables, with what it predicts or the reason
/// why it is off. Requires is_tuned(kind) and two ranks at least. Cost: about a microsecond.
/// Source: NVIDIA/nccl, src/graph/tuning.cc and src/enqueue.cc (topoGetAlgoInfo).
[[nodiscard]] std::vector<Tuned> tune(TunerRequest const& request);

/// The fastest one, the first of equals. Throws InputError if the user's variables leave nothing, with what would
/// remain without them.
[[nodiscard]] Tuned const& best(std::vector<Tuned> const& table, TunerRequest const& request);

/// One sentence on why the best is the best: from which size on it is, and what the next algorithm would take.
[[nodiscard]] std::string explain(std::vector<Tuned> const& table, TunerRequest const& request);

}  // namespace twinstep::collectives::tuner
