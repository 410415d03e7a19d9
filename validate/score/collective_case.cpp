#include "validate/score/collective_case.hpp"

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/collectives/benchmark.hpp"

namespace twinstep::validate {
namespace {

/// Nodes are filled, but where the record says that fewer GPUs of each took part. (Of a rack it counts trays.)
collectives::Layout layout_of(CollectiveRecord const& record, hardware::Cluster const& cluster) {
  auto filled = collectives::layout_of(record.ranks, cluster.node().gpus);
  if (!record.cluster || cluster.node().gpus_per_host) return filled;
  auto const each = record.cluster->at("gpus_per_node").integer_from(1);
  if (each >= cluster.node().gpus || record.ranks % each != 0) return filled;
  auto layout = collectives::Layout{};
  layout.ranks = record.ranks;
  layout.runs = {{record.ranks / each, each}};
  return layout;
}

}  // namespace

CollectiveCase::Machine::Machine(hardware::Cluster its, CollectiveRecord const& record)
    : cluster{std::move(its)},
      topology{cluster},
      layout{layout_of(record, cluster)},
      chooser{layout, cluster, topology} {}

CollectiveCase::CollectiveCase(CollectiveRecord const& record, hardware::Cluster cluster) : record_{&record} {
  if (record.ranks > cluster.gpus())
    throw InputError{fmt::format("{}: found {} ranks, but its machine has {} GPUs; correct one of them", record.id,
                                 record.ranks, cluster.gpus())};
  auto const nodes = layout_of(record, cluster).nodes();
  if (nodes > cluster.nodes())
    throw InputError{fmt::format("{}: found {} nodes, but its machine has {}; correct one of them", record.id, nodes,
                                 cluster.nodes())};
  machine_ = std::make_unique<Machine>(std::move(cluster), record);
}

collectives::Candidate CollectiveCase::choose(Bytes size) const {
  auto const kind = record_->kind.collective;
  if (!kind) return {collectives::Algorithm::kPairwise, collectives::Protocol::kSimple, 1};
  return machine_->chooser.choose({*kind, size, program::Reduction::kSum, record_->type, {}});
}

collectives::Folded CollectiveCase::fold(Bytes size, collectives::Candidate const& way) const {
  auto const& machine = *machine_;
  if (auto const kind = record_->kind.collective)
    return collectives::fold_as(
        machine.chooser.request({*kind, size, program::Reduction::kSum, record_->type, {}}, way));
  // Every rank sends to the next one: the first pair that leaves the node, if one does, is the slowest.
  auto const gpus = machine.cluster.node().gpus;
  auto const from = RankId{static_cast<std::size_t>(record_->ranks > gpus ? gpus - 1 : 0)};
  auto const to = RankId{(from.index() + 1) % static_cast<std::size_t>(record_->ranks)};
  return collectives::fold_message(size, from, to, machine.cluster, machine.topology);
}

Prediction CollectiveCase::predict(Bytes size, collectives::Candidate const& way) const {
  auto const& machine = *machine_;
  auto const device = collectives::time_alone(fold(size, way), machine.topology);
  return {to_seconds(collectives::benchmark_time(to_duration(host_time()), device)), way.algorithm, way.protocol};
}

Seconds CollectiveCase::host_time() const {
  auto const kind = record_->kind.collective.value_or(CollectiveKind::kBroadcast);
  auto const run = collectives::BenchmarkRun{record_->launcher, record_->ranks, layout().most_ranks_per_node()};
  return to_seconds(collectives::host_time(kind, run, cluster().library));
}

std::optional<collectives::Sweep> CollectiveCase::sweep() const {
  auto const kind = record_->kind.collective;
  return kind ? std::optional{collectives::Sweep{*kind, record_->ranks, layout().nodes()}} : std::nullopt;
}

std::optional<TimeInterval> CollectiveCase::interval(Bytes size, Seconds predicted) const {
  auto const its = sweep();
  if (!its) return std::nullopt;
  auto const found = collectives::interval_of(to_duration(predicted), *its, size, cluster().library);
  return found ? std::optional{TimeInterval{to_seconds(found->first), to_seconds(found->second)}} : std::nullopt;
}

std::optional<Seconds> CollectiveCase::predict_by_tuner(Bytes size) const {
  auto const kind = record_->kind.collective;
  if (!kind) return std::nullopt;
  auto least = std::optional<Duration>{};
  for (auto const& row : machine_->chooser.table({*kind, size, program::Reduction::kSum, record_->type, {}}))
    if (row.is_on() && (!least || row.time < *least)) least = row.time;
  return least ? std::optional{to_seconds(*least)} : std::nullopt;
}

}  // namespace twinstep::validate
