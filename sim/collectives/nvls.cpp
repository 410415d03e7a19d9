#include <algorithm>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/multicast.hpp"
#include "sim/collectives/pipeline.hpp"

/// NVLS: in one NVLink domain the switch reduces and multicasts, piece after piece (NVIDIA/nccl
/// src/device/all_reduce.h, all_gather.h, reduce_scatter.h).
namespace twinstep::collectives {
namespace {

/// Every rank hands part h to the switch, which adds it up for head h; head h hands the sum back, and the switch copies
/// it to every rank.
std::optional<Message> switch_all_reduce_step(Schedule const& nvls, std::int64_t rank, std::int64_t step,
                                              std::int64_t lane) {
  auto const is_agent = rank >= nvls.ranks;
  auto const head = rank - nvls.ranks;
  auto const heads = nvls.agents;
  switch (step) {
    case 0:
      if (is_agent || lane >= heads) return std::nullopt;
      return Message{nvls.ranks + lane, lane, 1, true};
    case 1:
      if (!is_agent || lane != 0) return std::nullopt;
      return Message{head, head, 1, false};
    case 2:
      if (rank >= heads || lane != 0) return std::nullopt;
      return Message{nvls.ranks + rank, rank, 1, false};
    default:
      if (!is_agent || lane >= nvls.ranks) return std::nullopt;
      return Message{lane, head, 1, false};
  }
}

/// Every rank hands its chunk to the switch, which copies it to all.
std::optional<Message> switch_all_gather_step(Schedule const& nvls, std::int64_t rank, std::int64_t step,
                                              std::int64_t lane) {
  auto const is_agent = rank >= nvls.ranks;
  if (is_agent != (step == 1) || (!is_agent && lane != 0)) return std::nullopt;
  if (!is_agent) return Message{nvls.ranks + rank, rank, 1, false};
  return Message{lane, rank - nvls.ranks, 1, false};
}

/// Every rank hands every chunk to the switch, which adds it up for its owner.
std::optional<Message> switch_reduce_scatter_step(Schedule const& nvls, std::int64_t rank, std::int64_t step,
                                                  std::int64_t lane) {
  auto const is_agent = rank >= nvls.ranks;
  if (is_agent != (step == 1) || (is_agent && lane != 0)) return std::nullopt;
  if (!is_agent) return Message{nvls.ranks + lane, lane, 1, true};
  return Message{rank - nvls.ranks, rank - nvls.ranks, 1, false};
}

}  // namespace

Schedule nvls_schedule(CollectiveKind kind, std::int64_t ranks) {
  auto nvls = Schedule{kind, ranks, 0, ranks};
  auto const is_all_reduce = kind == CollectiveKind::kAllReduce;
  nvls.agents = is_all_reduce ? heads_of(ranks) : ranks;
  nvls.chunks = nvls.agents;
  nvls.lanes = ranks;
  nvls.steps = is_all_reduce ? 4 : 2;
  nvls.successor = is_all_reduce                        ? switch_all_reduce_step
                   : kind == CollectiveKind::kAllGather ? switch_all_gather_step
                                                        : switch_reduce_scatter_step;
  if (ranks == 1) nvls.steps = 0;
  return nvls;
}

namespace {

/// What a rank moves through its port: fractions of the buffer, by stage.
struct NvlsStage {
  double out = 0;
  double in = 0;
};

/// The stages of a rank that is a head.
std::vector<NvlsStage> stages_of(CollectiveKind kind, std::int64_t ranks) {
  auto const part = 1.0 / static_cast<double>(heads_of(ranks));
  switch (kind) {
    case CollectiveKind::kAllGather: return {{1.0 / static_cast<double>(ranks), 0}, {0, 1}};
    case CollectiveKind::kReduceScatter: return {{1, 0}, {0, 1.0 / static_cast<double>(ranks)}};
    default: return {{1, 0}, {0, part}, {part, 0}, {0, 1}};
  }
}

Timing timing_of(FoldRequest const& request, std::int64_t stages, std::int64_t pieces) {
  auto const& cluster = request.cluster;
  return pipelined_timing(
      {cluster.library.kernel_start.value, spread(cluster.node().link.multicast_latency.value, stages)}, pieces);
}

}  // namespace

/// The switch's latency holds for the whole way through the stages.
Timing nvls_timing(FoldRequest const& request) {
  auto const stages = static_cast<std::int64_t>(stages_of(request.kind, request.placement.ranks).size());
  return timing_of(request, stages, multicast_flow(request).pieces);
}

Folded fold_nvls(FoldRequest const& request) {
  auto const& at = request.placement;
  require_multicast(request);
  auto const size = static_cast<double>(request.size.count());
  auto const stages = stages_of(request.kind, at.ranks);
  auto const flow = multicast_flow(request);
  auto loads = std::vector<StageLoad>{};
  auto whole = NvlsStage{};
  for (auto const& [out, in] : stages) {
    loads.push_back({out * flow.seconds_a_piece, in * flow.seconds_a_piece, 0, 0});
    whole = {whole.out + out, whole.in + in};
  }

  auto sheet = LoadSheet{request};
  for (auto i = std::int64_t{0}; i < at.ranks; ++i) {
    add_to_switch(sheet, request, at.gpu(i, at.ranks), whole.out * size);
    add_from_switch(sheet, request, at.gpu(i, at.ranks), whole.in * size);
  }
  sheet.add_memory(std::max(whole.out, whole.in) * size);

  auto folded = Folded{};
  auto const latency = nvls_timing(request).total() + fill_time(loads, flow.pieces);
  folded.phases = {{latency, sheet.loads(efficiency_of(request, Traffic::kMulticast)), {}}};
  // Of the n ranks, only heads hand anything back.
  auto const sent = request.kind == CollectiveKind::kAllReduce ? static_cast<double>(at.ranks) + 1
                                                               : whole.out * static_cast<double>(at.ranks);
  folded.intra = nearest_bytes(sent * size);
  return folded;
}

}  // namespace twinstep::collectives
