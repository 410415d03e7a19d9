#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/star.hpp"

/// The naive way, to compare others with: every rank hands what it has to the root, one after the other, and the root
/// hands everyone its result, one after the other. All bytes pass the root's link: 2(n - 1) S of an all_reduce.
namespace twinstep::collectives {
namespace {

/// Towards the root everyone sends all of its buffer, or the chunk that it contributes.
bool has_inward_half(CollectiveKind kind) {
  return kind != CollectiveKind::kBroadcast;
}
bool has_outward_half(CollectiveKind kind) {
  return kind != CollectiveKind::kReduce;
}

/// The rank whose turn it is in the `turn`-th step of a half.
std::int64_t rank_at(Schedule const& naive, std::int64_t turn) {
  return wrap(naive.root + 1 + turn, naive.ranks);
}

Message inward(Schedule const& naive, std::int64_t rank) {
  if (naive.kind == CollectiveKind::kAllGather) return {naive.root, rank, 1, false};
  return {naive.root, 0, naive.chunks, true};
}

Message outward(Schedule const& naive, std::int64_t rank) {
  if (naive.kind == CollectiveKind::kReduceScatter) return {rank, rank, 1, false};
  return {rank, 0, naive.chunks, false};
}

std::optional<Message> naive_step(Schedule const& naive, std::int64_t rank, std::int64_t step, std::int64_t) {
  auto const half = naive.ranks - 1;
  if (has_inward_half(naive.kind) && step < half)
    return rank == rank_at(naive, step) ? std::optional{inward(naive, rank)} : std::nullopt;
  return rank == naive.root ? std::optional{outward(naive, rank_at(naive, step % half))} : std::nullopt;
}

std::int64_t naive_arrivals(Schedule const& naive, std::int64_t rank, std::int64_t step) {
  auto const half = naive.ranks - 1;
  auto const is_inward = has_inward_half(naive.kind) && step < half;
  return rank == (is_inward ? naive.root : rank_at(naive, step % half)) ? 1 : 0;
}

}  // namespace

Schedule naive_schedule(CollectiveKind kind, std::int64_t ranks, std::int64_t root) {
  TWINSTEP_CHECK(
      kind != CollectiveKind::kAllToAll && kind != CollectiveKind::kGather && kind != CollectiveKind::kScatter,
      "these need no detour by a root: pairwise messages do them");
  auto naive = Schedule{kind, ranks, root};
  naive.chunks = ranks;
  naive.steps = (ranks - 1) * (has_inward_half(kind) && has_outward_half(kind) ? 2 : 1);
  naive.successor = naive_step;
  naive.arrivals = naive_arrivals;
  return naive;
}

namespace {

/// One half. The messages inside the root's node may take different links, so each is a phase; those from and to
/// other nodes all pass the root's NIC. Nothing overlaps.
void add_half(std::vector<Phase>& phases, FoldRequest const& request, double bytes, Direction direction) {
  auto const& at = request.placement;
  auto const efficiency = efficiency_of(request, Traffic::kPeers);
  for (auto i = std::int64_t{1}; i < at.ranks_per_node; ++i) {
    auto sheet = LoadSheet{request};
    add_star_inside(sheet, request, i, bytes, direction);
    sheet.add_memory(bytes);
    phases.push_back({inside_step(request), sheet.loads(efficiency), {}});
  }
  if (at.nodes == 1) return;
  auto latency = Timing{{}, star_steps(request)}.total() - inside_step(request) * (at.ranks_per_node - 1);
  auto sheet = LoadSheet{request};
  add_star_outside(sheet, request, bytes, direction);
  sheet.add_memory(bytes * static_cast<double>(at.ranks - at.ranks_per_node));
  phases.push_back({latency, sheet.loads(efficiency), {}});
}

/// Bytes of one message of each half; none where it has no such half.
struct NaiveWork {
  double inward = 0;
  double outward = 0;
};

NaiveWork naive_work(FoldRequest const& request) {
  auto const size = static_cast<double>(request.size.count());
  auto const chunk = size / static_cast<double>(request.placement.ranks);
  auto const kind = request.kind;
  return {kind == CollectiveKind::kAllGather ? chunk : size, kind == CollectiveKind::kReduceScatter ? chunk : size};
}

}  // namespace

Timing naive_timing(FoldRequest const& request) {
  auto const half = star_steps(request);
  auto timing = Timing{launch_latency(request), half};
  if (has_inward_half(request.kind) && has_outward_half(request.kind))
    timing.steps.insert(timing.steps.end(), half.begin(), half.end());
  return timing;
}

Folded fold_naive(FoldRequest const& request) {
  auto const& at = request.placement;
  auto const [inward_bytes, outward_bytes] = naive_work(request);
  auto folded = Folded{};
  auto bytes = 0.0;
  if (has_inward_half(request.kind)) {
    add_half(folded.phases, request, inward_bytes, Direction::kToRoot);
    bytes += inward_bytes;
  }
  if (has_outward_half(request.kind)) {
    add_half(folded.phases, request, outward_bytes, Direction::kFromRoot);
    bytes += outward_bytes;
  }
  folded.phases.front().latency += launch_latency(request);
  folded.intra = nearest_bytes(bytes * static_cast<double>(at.ranks_per_node - 1));
  folded.inter = nearest_bytes(bytes * static_cast<double>(at.ranks - at.ranks_per_node));
  return folded;
}

}  // namespace twinstep::collectives
