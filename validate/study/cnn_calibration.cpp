#include "validate/study/cnn_calibration.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "validate/score/averages.hpp"
#include "validate/study/step_prediction.hpp"

namespace twinstep::study {
namespace {

using validate::StepRecord;

constexpr auto kFittedModel = "resnet50";

bool is_cnn(StepReplay const& replay) {
  return std::holds_alternative<strategies::Cnn>(replay.scenario.model);
}

bool is_without_ddp(StepReplay const& replay) {
  auto const& plan = replay.scenario.plan;
  return plan.strategy == strategies::StrategyName::kNaive && plan.parallel.data == 1;
}

/// What the record measured, over what is simulated.
std::optional<double> ratio_of(StepRecord const& record, explore::Scenario const& scenario) {
  auto const measured = record.trusted_step_time();
  return measured ? std::optional{*measured / simulated_time(scenario)} : std::nullopt;
}

}  // namespace

explore::Scenario with_compute(explore::Scenario scenario, double factor) {
  if (factor == 1) return scenario;
  auto cluster = *scenario.cluster;
  cluster.stack.compute.value *= factor;
  cluster.node().gpu.efficiency.memory.value /= factor;
  return on(std::move(cluster), std::move(scenario));
}

CnnCalibration::CnnCalibration(std::vector<StepRecord> const& records, std::optional<hardware::Cluster> const& named) {
  auto rows = std::vector<std::pair<StepRecord const*, StepReplay>>{};
  for (auto const& record : records) {
    if (record.model.kind.empty()) continue;
    auto replay = replay_of(record, named);
    if (auto* const found = std::get_if<StepReplay>(&replay); found != nullptr && is_cnn(*found))
      rows.emplace_back(&record, std::move(*found));
  }
  for (auto const& [record, replay] : rows)
    if (is_without_ddp(replay)) fit_compute(*record, replay);
  for (auto const& [record, replay] : rows)
    if (record->model.name == kFittedModel && replay.scenario.plan.parallel.data > 1) fit_replicas(*record, replay);
}

CnnCalibration::Key CnnCalibration::key_of(StepRecord const& record, StepReplay const& replay, std::string model) {
  return {record.family, replay.scenario.cluster->node().gpu.name, std::move(model)};
}

/// Launches take their time whatever the factor is, hence in turns.
void CnnCalibration::fit_compute(StepRecord const& record, StepReplay const& replay) {
  constexpr auto kTurns = 4;
  auto factor = 1.0;
  for (auto turn = 0; turn < kTurns; ++turn) {
    auto const ratio = ratio_of(record, with_compute(replay.scenario, factor));
    if (!ratio) return;
    factor *= *ratio;
  }
  compute_[key_of(record, replay, record.model.name)] = factor;
}

void CnnCalibration::fit_replicas(StepRecord const& record, StepReplay const& replay) {
  auto const own = compute_.find(key_of(record, replay, kFittedModel));
  if (own == compute_.end()) return;
  if (auto const ratio = ratio_of(record, with_compute(replay.scenario, own->second)))
    replicas_[key_of(record, replay, kFittedModel)].push_back(std::log(*ratio));
}

CnnCalibration::Factors CnnCalibration::factors_of(StepRecord const& record, StepReplay const& replay) const {
  auto factors = Factors{};
  if (!is_cnn(replay)) return factors;
  auto compute = compute_.find(key_of(record, replay, record.model.name));
  if (compute == compute_.end()) compute = compute_.find(key_of(record, replay, kFittedModel));
  if (compute == compute_.end()) {
    factors.notes.emplace_back("no row without DDP: convolutions by the GPU's profile");
    return factors;
  }
  factors.compute = compute->second;
  factors.notes.push_back(fmt::format("compute from {}'s row without DDP", compute->first.back()));
  factors.has_seen = is_without_ddp(replay);
  auto const replicas = replicas_.find(key_of(record, replay, kFittedModel));
  if (replay.scenario.plan.parallel.data == 1 || replicas == replicas_.end()) return factors;
  factors.replicas = std::exp(validate::mean(replicas->second));
  factors.has_seen = record.model.name == kFittedModel;
  factors.notes.push_back(
      fmt::format("waits for other replicas, {:+.1f} %, from {}'s rows", (factors.replicas - 1) * 100, kFittedModel));
  return factors;
}

}  // namespace twinstep::study
