#pragma once

#include <optional>
#include <vector>

#include "sim/collectives/folded.hpp"
#include "sim/collectives/layout.hpp"
#include "sim/collectives/placement.hpp"
#include "sim/collectives/tuner/environment.hpp"
#include "sim/collectives/tuner/graph.hpp"
#include "sim/collectives/tuner/tuner.hpp"

namespace twinstep::collectives {

/// One way of doing a collective.
struct Candidate {
  Algorithm algorithm{};
  Protocol protocol{};
  std::int64_t channels = 1;
};

/// Decides for one communicator how its collectives are done: as the library's tuner does (hardware::Choice::kTuner),
/// or by the smallest of our costs among what the tuner allows. A library without a tuner, and the collectives that
/// NCCL builds from sends and receives, take the cheapest of the usual algorithms; one without a choice, what it has.
///
/// Reads the user's variables and finds the tuner's graph once, so that a sweep over sizes pays for them once. Refers
/// to its arguments.
class Chooser {
 public:
  /// Throws InputError for variables that make no sense.
  Chooser(Layout const& layout, hardware::Cluster const& cluster, topology::Topology const& topology);
  Chooser(Chooser const&) = delete;
  Chooser& operator=(Chooser const&) = delete;

  /// The collective as it would be done, folded. Throws InputError if what is forced cannot be done, with what can.
  [[nodiscard]] Folded fold(Question const& question) const;
  /// The same choice, not folded.
  [[nodiscard]] Candidate choose(Question const& question) const;
  /// The collective done by one candidate.
  [[nodiscard]] FoldRequest request(Question const& question, Candidate const& candidate) const;

  /// What may do the collective; only what is forced, if something is. Throws InputError if that is nothing.
  [[nodiscard]] std::vector<Candidate> candidates(Question const& question) const;
  /// The tuner's table for this collective, what is off included; empty where the library's tuner does not decide.
  [[nodiscard]] std::vector<tuner::Tuned> table(Question const& question) const;
  /// One sentence on why the choice is what it is.
  [[nodiscard]] std::string explain(Question const& question) const;

  [[nodiscard]] Placement const& placement() const { return placement_; }
  [[nodiscard]] tuner::Graph const& graph() const { return graph_; }
  [[nodiscard]] tuner::Environment const& environment() const { return environment_; }

 private:
  [[nodiscard]] bool is_tuned(CollectiveKind kind) const;
  [[nodiscard]] tuner::TunerRequest tuner_request(Question const& question) const;
  [[nodiscard]] std::vector<Candidate> tuned_candidates(Question const& question) const;
  [[nodiscard]] std::vector<Candidate> usual_candidates(Question const& question) const;
  /// The library's one way, on no thread block of a GPU.
  [[nodiscard]] Candidate fixed_candidate(CollectiveKind kind) const;

  hardware::Cluster const& cluster_;
  topology::Topology const& topology_;
  Placement placement_;
  tuner::Environment environment_;
  tuner::Graph graph_;
};

}  // namespace twinstep::collectives
