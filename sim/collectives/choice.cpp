#include "sim/collectives/choice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/collectives/dispatch.hpp"
#include "sim/collectives/multicast.hpp"

namespace twinstep::collectives {
namespace {

bool is_forced_out(Forced const& forced, Algorithm algorithm, Protocol protocol) {
  return (forced.algorithm && *forced.algorithm != algorithm) || (forced.protocol && *forced.protocol != protocol);
}

/// What libraries without a tuner take, and NCCL for what it builds from sends and receives: pairwise messages for all
/// that has no ring. The others have to be asked for.
bool is_usual(CollectiveKind kind, Algorithm algorithm) {
  using enum CollectiveKind;
  if (kind == kAllToAll || kind == kGather || kind == kScatter) return algorithm == Algorithm::kPairwise;
  return algorithm == Algorithm::kRing || algorithm == Algorithm::kTree || algorithm == Algorithm::kBinomial;
}

/// NCCL reduces in switches of nodes and of the network in one pass (NVLS over several nodes with SHARP), and gathers
/// and scatters over the network's switches; nothing measured says what these cost.
bool has_cost(CollectiveKind kind, Algorithm algorithm, Placement const& placement) {
  return is_available(kind, algorithm) && !(algorithm == Algorithm::kNvls && placement.nodes > 1);
}

/// Forced, by the question or by the environment, is what the table has switched off: says why, and what is left.
[[noreturn]] void fail_forced(Question const& question, std::vector<tuner::Tuned> const& table,
                              tuner::Environment const& environment) {
  auto const& forced = question.forced;
  auto const is_asked_for = [&](tuner::Tuned const& row) {
    if (forced.algorithm || forced.protocol) return !is_forced_out(forced, row.algorithm, row.protocol);
    auto const& mask = environment.mask(question.kind);
    return mask.algorithms[static_cast<std::size_t>(row.algorithm)] &&
           mask.protocols[static_cast<std::size_t>(row.protocol)];
  };
  auto reason = std::string_view{"the tuner does not have it"};
  auto left = std::string{};
  for (auto const& row : table) {
    if (is_asked_for(row) && !row.is_on()) reason = row.off_because;
    if (row.is_on())
      left += fmt::format("{}{}/{}", left.empty() ? "" : ", ", name_of(row.algorithm), name_of(row.protocol));
  }
  auto asked_for = std::string{forced.algorithm ? name_of(*forced.algorithm) : ""};
  if (forced.protocol) asked_for += fmt::format("{}{}", asked_for.empty() ? "" : "/", name_of(*forced.protocol));
  if (asked_for.empty()) asked_for = "what the environment allows";
  throw InputError{fmt::format("{} cannot be done by {}: {}; {}", name_of(question.kind), asked_for, reason,
                               left.empty() ? "unset NCCL_ALGO or NCCL_PROTO" : "these can: " + left)};
}

}  // namespace

Chooser::Chooser(Layout const& layout, hardware::Cluster const& cluster, topology::Topology const& topology)
    : cluster_{cluster},
      topology_{topology},
      placement_{layout, cluster, topology},
      environment_{tuner::read_environment(cluster.library.environment)},
      graph_{tuner::find_graph(placement_, cluster, environment_)} {
  graph_.has_multicast = graph_.has_multicast && keeps_gpu_links(placement_, topology);
}

bool Chooser::is_tuned(CollectiveKind kind) const {
  return tuner::is_tuned(kind) && !cluster_.library.tuning.from_version.empty() && placement_.ranks > 1;
}

tuner::TunerRequest Chooser::tuner_request(Question const& question) const {
  return {question.kind, question.size, question.reduction, question.type, graph_, environment_, cluster_};
}

std::vector<tuner::Tuned> Chooser::table(Question const& question) const {
  if (!is_tuned(question.kind)) return {};
  auto rows = tuner::tune(tuner_request(question));
  for (auto& row : rows)
    if (row.is_on() && !has_cost(question.kind, row.algorithm, placement_)) row.off_because = "has no cost here";
  return rows;
}

std::vector<Candidate> Chooser::tuned_candidates(Question const& question) const {
  auto const all = table(question);
  auto found = std::vector<Candidate>{};
  auto allowed = all;
  for (auto& row : allowed)
    if (is_forced_out(question.forced, row.algorithm, row.protocol)) row.off_because = "something else is forced";
  if (std::ranges::none_of(allowed, &tuner::Tuned::is_on)) fail_forced(question, all, environment_);
  if (cluster_.library.choice == hardware::Choice::kTuner) {
    auto const& best = tuner::best(allowed, tuner_request(question));
    return {{best.algorithm, best.protocol, best.channels}};
  }
  for (auto const& row : allowed)
    if (row.is_on()) found.push_back({row.algorithm, row.protocol, row.channels});
  return found;
}

std::vector<Candidate> Chooser::usual_candidates(Question const& question) const {
  auto found = std::vector<Candidate>{};
  for (auto const& entry : all_algorithms()) {
    auto const is_wanted = question.forced.algorithm ? *question.forced.algorithm == entry.algorithm
                                                     : is_usual(question.kind, entry.algorithm);
    if (is_wanted && entry.does(question.kind))
      found.push_back({entry.algorithm, question.forced.protocol.value_or(Protocol::kSimple), graph_.channels});
  }
  return found;
}

Candidate Chooser::fixed_candidate(CollectiveKind kind) const {
  auto const* const fixed = cluster_.library.fixed(kind);
  if (!fixed)
    throw InputError{fmt::format("library {} does not say how it does {}; add it to its algorithms, or force one",
                                 cluster_.library.name, name_of(kind))};
  require_available(kind, fixed->algorithm);
  return {fixed->algorithm, Protocol::kSimple, 0};
}

std::vector<Candidate> Chooser::candidates(Question const& question) const {
  auto const& forced = question.forced.algorithm;
  if (forced) require_available(question.kind, *forced);
  if (!forced && cluster_.library.choice == hardware::Choice::kFixed) return {fixed_candidate(question.kind)};
  auto const is_ours = forced && static_cast<std::size_t>(*forced) >= hardware::kTunedAlgorithms;
  return is_tuned(question.kind) && !is_ours ? tuned_candidates(question) : usual_candidates(question);
}

FoldRequest Chooser::request(Question const& question, Candidate const& candidate) const {
  return {question.kind, question.size,       placement_,         cluster_,
          topology_,     candidate.algorithm, candidate.protocol, candidate.channels};
}

Candidate Chooser::choose(Question const& question) const {
  auto const possible = candidates(question);
  if (possible.size() == 1) return possible.front();
  auto const time = [&](Candidate const& each) {
    return time_alone(fold_uncorrected(request(question, each)), topology_);
  };
  auto best = possible.front();
  auto least = time(best);
  for (auto const& each : std::span{possible}.subspan(1)) {
    auto const its = time(each);
    if (its >= least) continue;
    best = each;
    least = its;
  }
  return best;
}

Folded Chooser::fold(Question const& question) const {
  if (placement_.ranks <= 1 || question.size.count() <= 0) return {};
  return fold_as(request(question, choose(question)));
}

std::string Chooser::explain(Question const& question) const {
  if (is_tuned(question.kind) && cluster_.library.choice == hardware::Choice::kTuner && !question.forced.algorithm &&
      !question.forced.protocol)
    return tuner::explain(table(question), tuner_request(question));
  auto const best = choose(question);
  auto const time = [&](Candidate const& each) {
    return time_alone(fold_uncorrected(request(question, each)), topology_);
  };
  auto runner_up = std::optional<Candidate>{};
  for (auto const& each : candidates(question))
    if ((each.algorithm != best.algorithm || each.protocol != best.protocol) &&
        (!runner_up || time(each) < time(*runner_up)))
      runner_up = each;
  auto const name = [](Candidate const& each) {
    return fmt::format("{}/{}", name_of(each.algorithm), name_of(each.protocol));
  };
  if (!runner_up) return fmt::format("{}, because nothing else may do it", name(best));
  return fmt::format("{}, because it is the fastest by twinstep's costs: {} would take {:.1f} times as long",
                     name(best), name(*runner_up),
                     static_cast<double>(time(*runner_up).count()) / static_cast<double>(time(best).count()));
}

}  // namespace twinstep::collectives
