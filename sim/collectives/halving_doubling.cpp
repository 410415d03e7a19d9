#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/partners.hpp"

/// Recursive halving and doubling. To reduce, the ranks of a pair swap halves of what both still work on, so that the
/// part halves with each step; to gather, the same steps backwards double it. Two ranks that are left over by powers of
/// two act as one: the even one hands over what it has before, and is handed its result after (Thakur, Rabenseifner,
/// Gropp, IJHPCA 19(1), 2005, section 4).
namespace twinstep::collectives {
namespace {

/// The ranks as actors, a power of two of them. The first `excess` actors stand for two ranks each.
struct Actors {
  std::int64_t log = 0;
  std::int64_t count = 1;  ///< 2^log
  std::int64_t excess = 0;
  bool is_all_reduce = false;  ///< parts are equal and pairs near first; otherwise an actor's part is its ranks' chunks

  Actors(CollectiveKind kind, std::int64_t ranks)
      : log{floor_log2(ranks)},
        count{std::int64_t{1} << log},
        excess{ranks - count},
        is_all_reduce{kind == CollectiveKind::kAllReduce} {}

  [[nodiscard]] bool is_handed_over(std::int64_t rank) const { return rank < 2 * excess && rank % 2 == 0; }
  [[nodiscard]] std::int64_t of(std::int64_t rank) const { return rank < 2 * excess ? rank / 2 : rank - excess; }
  [[nodiscard]] std::int64_t rank(std::int64_t actor) const { return actor < excess ? 2 * actor + 1 : actor + excess; }
  /// The first chunk of an actor's part.
  [[nodiscard]] std::int64_t chunk(std::int64_t actor) const {
    return is_all_reduce ? actor : actor + std::min(actor, excess);
  }

  /// Halving step h pairs actors that differ in this bit. A whole buffer is halved between neighbours first, when
  /// there is most to send; chunks that belong to ranks leave no choice.
  [[nodiscard]] std::int64_t bit(std::int64_t halving) const { return is_all_reduce ? halving : log - 1 - halving; }
  [[nodiscard]] std::int64_t distance(std::int64_t halving) const { return std::int64_t{1} << bit(halving); }
  /// Parts that each of the pair is left with.
  [[nodiscard]] std::int64_t half(std::int64_t halving) const { return count >> (halving + 1); }
  [[nodiscard]] bool keeps_upper(std::int64_t actor, std::int64_t halving) const {
    return ((actor >> bit(halving)) & 1) != 0;
  }
  /// The first part that the actor works on after `halvings` steps.
  [[nodiscard]] std::int64_t first(std::int64_t actor, std::int64_t halvings) const {
    auto part = std::int64_t{0};
    for (auto h = std::int64_t{0}; h < halvings; ++h) part += keeps_upper(actor, h) ? half(h) : 0;
    return part;
  }
};

/// What an actor sends to its partner of a halving step: `parts` from `first` on.
Message to_partner(Actors const& actors, std::int64_t actor, std::int64_t halving, std::int64_t first,
                   bool is_reduced) {
  auto const begin = actors.chunk(first);
  auto const end = actors.chunk(first + actors.half(halving));
  return {actors.rank(actor ^ actors.distance(halving)), begin, end - begin, is_reduced};
}

Message halve(Actors const& actors, std::int64_t actor, std::int64_t halving) {
  auto const other_half = actors.keeps_upper(actor, halving) ? 0 : actors.half(halving);
  return to_partner(actors, actor, halving, actors.first(actor, halving) + other_half, true);
}

Message redouble(Actors const& actors, std::int64_t actor, std::int64_t halving) {
  return to_partner(actors, actor, halving, actors.first(actor, halving + 1), false);
}

/// Before: an even rank's contribution to its odd neighbour.
Message hand_over(Schedule const& schedule, std::int64_t rank) {
  if (schedule.kind == CollectiveKind::kAllGather) return {rank + 1, rank, 1, false};
  return {rank + 1, 0, schedule.chunks, true};
}

/// After: the even rank's result.
Message hand_back(Schedule const& schedule, std::int64_t rank) {
  if (schedule.kind == CollectiveKind::kReduceScatter) return {rank - 1, rank - 1, 1, false};
  return {rank - 1, 0, schedule.chunks, false};
}

std::optional<Message> halving_step(Schedule const& schedule, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const actors = Actors{schedule.kind, schedule.ranks};
  auto const is_even = actors.is_handed_over(rank);
  if (actors.excess > 0) {
    if (step == 0) return is_even ? std::optional{hand_over(schedule, rank)} : std::nullopt;
    if (step == schedule.steps - 1)
      return rank < 2 * actors.excess && !is_even ? std::optional{hand_back(schedule, rank)} : std::nullopt;
    --step;
  }
  if (is_even) return std::nullopt;
  auto const actor = actors.of(rank);
  auto const halvings = schedule.kind == CollectiveKind::kAllGather ? 0 : actors.log;
  if (step < halvings) return halve(actors, actor, step);
  return redouble(actors, actor, actors.log - 1 - (step - halvings));
}

/// An actor receives when it sends; of the other two steps, the neighbour that does not send.
std::int64_t halving_arrivals(Schedule const& schedule, std::int64_t rank, std::int64_t step) {
  auto const excess = Actors{schedule.kind, schedule.ranks}.excess;
  auto const is_first = excess > 0 && step == 0;
  auto const is_last = excess > 0 && step == schedule.steps - 1;
  if (is_first || is_last) return rank < 2 * excess && rank % 2 == (is_first ? 1 : 0) ? 1 : 0;
  return halving_step(schedule, rank, step, 0) ? 1 : 0;
}

}  // namespace

Schedule halving_doubling_schedule(CollectiveKind kind, std::int64_t ranks) {
  auto const actors = Actors{kind, ranks};
  TWINSTEP_CHECK(actors.is_all_reduce || kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter,
                 "halving and doubling do not do this collective");
  auto schedule = Schedule{kind, ranks};
  schedule.chunks = actors.is_all_reduce ? actors.count : ranks;
  schedule.steps = actors.log * (actors.is_all_reduce ? 2 : 1) + (actors.excess > 0 ? 2 : 0);
  schedule.successor = halving_step;
  schedule.arrivals = halving_arrivals;
  return schedule;
}

namespace {

/// The exchanges in the order of halving, at the busiest actors: those that stand for two ranks have two chunks each.
/// Their ranks are twice as far apart as they are.
std::vector<PartnerStep> exchanges(FoldRequest const& request, Actors const& actors) {
  auto const chunks = actors.is_all_reduce ? actors.count : request.placement.ranks;
  auto const chunk = static_cast<double>(request.size.count()) / static_cast<double>(chunks);
  auto steps = std::vector<PartnerStep>{};
  for (auto h = std::int64_t{0}; h < actors.log; ++h)
    steps.push_back({actors.distance(h) * (actors.excess > 0 ? 2 : 1),
                     chunk * static_cast<double>(actors.chunk(actors.half(h))), true});
  return steps;
}

/// Bytes that an even rank hands over before, and is handed back after.
struct Handed {
  double over = 0;
  double back = 0;
};

Handed handed(FoldRequest const& request) {
  auto const size = static_cast<double>(request.size.count());
  auto const chunk = size / static_cast<double>(request.placement.ranks);
  return {request.kind == CollectiveKind::kAllGather ? chunk : size,
          request.kind == CollectiveKind::kReduceScatter ? chunk : size};
}

/// Between even and odd neighbours, one way.
Phase neighbour_phase(FoldRequest const& request, double bytes, bool is_back) {
  auto const& at = request.placement;
  auto sheet = LoadSheet{request};
  for (auto const held : at.ranks_held()) {
    auto node = LoadSheet{request};
    for (auto i = std::int64_t{0}; i + 1 < held; i += 2) {
      auto const even = at.gpu(i, held);
      auto const odd = at.gpu(i + 1, held);
      node.add_inside(is_back ? request.topology.within_node(odd, even) : request.topology.within_node(even, odd),
                      bytes);
    }
    if (held % 2 != 0 && at.nodes > 1) {  // of two such nodes the first sends and the second receives
      node.add_outside(request.topology.out_of_node(at.gpu(held - 1, held)), bytes);
      node.add_outside(request.topology.into_node(at.gpu(0, held)), bytes);
    }
    sheet.take_larger(node);
  }
  sheet.add_memory(bytes);
  return {latency_of(request, {1, bytes, true}), sheet.loads(efficiency_of(request, Traffic::kNeighbours)), {}};
}

std::int64_t neighbours_in_nodes(FoldRequest const& request, std::int64_t pairs) {
  auto const p = request.placement.ranks_per_node;
  return request.placement.nodes == 1 || p % 2 == 0 ? pairs : pairs * (p - 1) / p;
}

/// Times that every exchange is done.
std::int64_t passes(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce ? 2 : 1;
}

}  // namespace

Timing halving_doubling_timing(FoldRequest const& request) {
  auto const actors = Actors{request.kind, request.placement.ranks};
  auto const steps = exchanges(request, actors);
  auto timing = Timing{launch_latency(request), {}};
  auto const neighbours = StepRun{1, latency_of(request, {1, 0, true})};
  if (actors.excess > 0) timing.steps.push_back(neighbours);
  if (request.kind != CollectiveKind::kAllGather)
    for (auto const& step : steps) timing.steps.push_back({1, latency_of(request, step)});
  if (request.kind != CollectiveKind::kReduceScatter)
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      timing.steps.push_back({1, latency_of(request, *step)});
  if (actors.excess > 0) timing.steps.push_back(neighbours);
  return timing;
}

Folded fold_halving_doubling(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const actors = Actors{request.kind, at.ranks};
  auto const times = passes(request.kind);
  auto const size = static_cast<double>(request.size.count());
  auto steps = exchanges(request, actors);
  auto total = size * static_cast<double>(times * (actors.count - 1));
  auto inside = 0.0;
  auto folded = Folded{};
  for (auto h = std::int64_t{0}; h < actors.log; ++h) {  // the way there and the way back take a step alike
    auto& step = steps[static_cast<std::size_t>(h)];
    step.bytes *= static_cast<double>(times);
    folded.phases.push_back({latency_of(request, step) * times,
                             loads_of(request, std::span{&step, 1}).loads(efficiency_of(request, Traffic::kNeighbours)),
                             {}});
    // All actors together send each part half(h) times.
    inside += size * static_cast<double>(times * actors.half(h) * partners_in_nodes(at, step, actors.count)) /
              static_cast<double>(actors.count);
  }
  if (actors.excess > 0) {
    auto const [over, back] = handed(request);
    folded.phases.insert(folded.phases.begin(), neighbour_phase(request, over, false));
    folded.phases.push_back(neighbour_phase(request, back, true));
    total += (over + back) * static_cast<double>(actors.excess);
    inside += (over + back) * static_cast<double>(neighbours_in_nodes(request, actors.excess));
  }
  folded.phases.front().latency += launch_latency(request);
  folded.intra = nearest_bytes(inside);
  folded.inter = nearest_bytes(total) - folded.intra;
  return folded;
}

}  // namespace twinstep::collectives
