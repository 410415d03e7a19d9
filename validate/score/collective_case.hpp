#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/choice.hpp"
#include "sim/collectives/correction.hpp"
#include "sim/hardware/cluster.hpp"
#include "sim/topology/topology.hpp"
#include "validate/records/collective_record.hpp"

namespace twinstep::validate {

/// The machine that a record was measured on, from its physical facts, with the library's version and environment that
/// the record states. Where the version is stated, its tuner chooses the algorithms; where not, our costs do, with the
/// newest version's latencies. Throws
/// InputError for a record without facts, for facts that are not known, and for a library that is neither NCCL nor
/// RCCL.
[[nodiscard]] hardware::Cluster machine_of(CollectiveRecord const& record);

/// The same on a machine that the user named.
[[nodiscard]] hardware::Cluster machine_of(CollectiveRecord const& record, hardware::Cluster named);

/// Where the machine that `machine_of` makes is not quite the record's: a GPU that it does not name, or that has no
/// profile, is an H100 or MI300X; variables whose values NCCL could not read are left out. A sentence each.
[[nodiscard]] std::vector<std::string> stand_ins_of(CollectiveRecord const& record, bool has_named_machine);

/// Whether the GPU of a record's facts has a profile; true without facts.
[[nodiscard]] bool has_known_gpu(CollectiveRecord const& record);

/// A prediction for one size of a record.
struct Prediction {
  Seconds time;
  collectives::Algorithm algorithm{};
  collectives::Protocol protocol{};
};

struct TimeInterval {
  Seconds low;
  Seconds high;
};

/// One record on its machine, ready to be predicted again and again while the cost constants of the machine change.
class CollectiveCase {
 public:
  /// Throws InputError where the machine cannot run the record.
  CollectiveCase(CollectiveRecord const& record, hardware::Cluster cluster);

  [[nodiscard]] Prediction predict(Bytes size) const { return predict(size, choose(size)); }
  /// The algorithm and protocol that it would be done by; pairwise for send and receive.
  [[nodiscard]] collectives::Candidate choose(Bytes size) const;
  [[nodiscard]] Prediction predict(Bytes size, collectives::Candidate const& way) const;
  /// What the launcher of the benchmark takes for one call.
  [[nodiscard]] Seconds host_time() const;
  /// Where a measurement would lie nine times in ten; nothing for send and receive, and a library without errors.
  [[nodiscard]] std::optional<TimeInterval> interval(Bytes size, Seconds predicted) const;
  /// The collective on its ranks and nodes; nothing for send and receive.
  [[nodiscard]] std::optional<collectives::Sweep> sweep() const;
  /// What the library's own tuner believes; nothing for what it does not tune.
  [[nodiscard]] std::optional<Seconds> predict_by_tuner(Bytes size) const;

  /// Whether constants are fitted to it: healthy by today's software, on GPUs that are not older than NCCL's present
  /// constants, and not reduced in the network, which says nothing about the transport between hosts.
  [[nodiscard]] bool is_fitted() const {
    auto const& gpu = cluster().node().gpu;
    return record_->health == "healthy" && has_known_gpu(*record_) &&
           (!gpu.compute_capability || gpu.has_capability(70)) && !record_->environment.contains("SHARP");
  }
  /// Whether its errors are summed up: healthy, of NCCL, on GPUs with tensor cores. The others are reported.
  [[nodiscard]] bool is_scored() const {
    return record_->is_healthy() && has_known_gpu(*record_) && record_->library == "nccl" &&
           cluster().node().gpu.has_capability(70);
  }
  /// Whether the constants of its machine were fitted to this record, or to its like from the same system.
  [[nodiscard]] bool was_seen() const {
    auto const& systems = cluster().library.fitted_on;
    return is_fitted() && std::ranges::find(systems, record_->system) != systems.end();
  }
  [[nodiscard]] CollectiveRecord const& record() const { return *record_; }
  [[nodiscard]] hardware::Cluster const& cluster() const { return machine_->cluster; }
  [[nodiscard]] collectives::Layout const& layout() const { return machine_->layout; }
  [[nodiscard]] collectives::tuner::Graph const& graph() const { return machine_->chooser.graph(); }
  /// The constants of links, transport, library and launchers may be changed. Nothing else may: routes and the tuner's
  /// graph were made from it.
  [[nodiscard]] hardware::Cluster& constants() { return machine_->cluster; }

 private:
  /// Parts that refer to each other stay where they are when the case moves.
  struct Machine {
    Machine(hardware::Cluster its, CollectiveRecord const& record);
    hardware::Cluster cluster;
    topology::Topology topology;
    collectives::Layout layout;
    collectives::Chooser chooser;
  };
  [[nodiscard]] collectives::Folded fold(Bytes size, collectives::Candidate const& way) const;

  CollectiveRecord const* record_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace twinstep::validate
