#include "validate/score/collective_case.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "sim/collectives/benchmark.hpp"

namespace twinstep::validate {

CollectiveCase::Machine::Machine(hardware::Cluster its, std::int64_t ranks)
    : cluster{std::move(its)},
      topology{cluster},
      layout{collectives::layout_of(ranks, cluster.node.gpus)},
      chooser{layout, cluster, topology} {}

CollectiveCase::CollectiveCase(CollectiveRecord const& record, hardware::Cluster cluster) : record_{&record} {
  if (record.ranks > cluster.gpus())
    throw InputError{fmt::format("{}: found {} ranks, but its machine has {} GPUs; correct one of them", record.id,
                                 record.ranks, cluster.gpus())};
  machine_ = std::make_unique<Machine>(std::move(cluster), record.ranks);
}

collectives::Candidate CollectiveCase::choose(Bytes size) const {
  auto const kind = collective_of(record_->kind);
  if (!kind) return {collectives::Algorithm::kPairwise, collectives::Protocol::kSimple, 1};
  return machine_->chooser.choose({*kind, size, program::Reduction::kSum, record_->type, {}});
}

collectives::Folded CollectiveCase::fold(Bytes size, collectives::Candidate const& way) const {
  auto const& machine = *machine_;
  if (auto const kind = collective_of(record_->kind))
    return collectives::fold_as(
        machine.chooser.request({*kind, size, program::Reduction::kSum, record_->type, {}}, way));
  // Every rank sends to the next one: the first pair that leaves the node, if one does, is the slowest.
  auto const gpus = machine.cluster.node.gpus;
  auto const from = RankId{static_cast<std::size_t>(record_->ranks > gpus ? gpus - 1 : 0)};
  auto const to = RankId{(from.index() + 1) % static_cast<std::size_t>(record_->ranks)};
  return collectives::fold_message(size, from, to, machine.cluster, machine.topology);
}

Prediction CollectiveCase::predict(Bytes size, collectives::Candidate const& way) const {
  auto const& machine = *machine_;
  auto const device = collectives::time_alone(fold(size, way), machine.topology);
  auto const kind = collective_of(record_->kind).value_or(program::CollectiveKind::kBroadcast);
  auto const run = collectives::BenchmarkRun{record_->launcher, record_->ranks, machine.layout.most_ranks_per_node()};
  auto const host = collectives::host_time(kind, run, machine.cluster.library);
  return {to_seconds(collectives::benchmark_time(host, device)), way.algorithm, way.protocol};
}

std::optional<Seconds> CollectiveCase::predict_by_tuner(Bytes size) const {
  auto const kind = collective_of(record_->kind);
  if (!kind) return std::nullopt;
  auto least = std::optional<Duration>{};
  for (auto const& row : machine_->chooser.table({*kind, size, program::Reduction::kSum, record_->type, {}}))
    if (row.is_on() && (!least || row.time < *least)) least = row.time;
  return least ? std::optional{to_seconds(*least)} : std::nullopt;
}

}  // namespace twinstep::validate
