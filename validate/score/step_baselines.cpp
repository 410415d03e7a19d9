#include <cmath>
#include <map>

#include "validate/score/step_score.hpp"

namespace twinstep::validate {
namespace {

/// Whether the row is about whole steps.
bool is_of_steps(ScoredStep const& row) {
  return row.predicted && (row.measurement->quantity == StepQuantity::kStepTime ||
                           row.measurement->quantity == StepQuantity::kTokenRate);
}

/// Seconds of a step, from a value in the unit of the row.
double time_of(ScoredStep const& row, double value) {
  return row.measurement->quantity == StepQuantity::kStepTime ? value : row.answer.tokens_per_gpu / value;
}

double measured_time(ScoredStep const& row) {
  return time_of(row, row.measurement->value);
}

/// A step time in the unit of the row.
double in_unit(ScoredStep const& row, double time) {
  return row.measurement->quantity == StepQuantity::kStepTime ? time : row.answer.tokens_per_gpu / time;
}

/// Seconds of a step at the full peak rate.
double time_at_peak(ScoredStep const& row, bool counts_recomputation) {
  auto const factor = counts_recomputation && row.answer.is_recomputed ? 4.0 / 3.0 : 1.0;
  return row.answer.model_flops.count() * factor / row.answer.peak.count();
}

void set_utilisation(std::vector<ScoredStep>& rows, StepBaseline baseline) {
  struct Mean {
    double logarithms = 0;
    double count = 0;
  };
  auto const is_hfu = baseline == StepBaseline::kHfu;
  auto means = std::map<std::pair<std::string, std::string>, Mean>{};
  for (auto const& row : rows) {
    if (!is_of_steps(row) || !row.is_scored) continue;
    auto& mean = means[{row.family, row.answer.gpu}];
    mean.logarithms += std::log(time_at_peak(row, is_hfu) / measured_time(row));
    mean.count += 1;
  }
  for (auto& row : rows) {
    if (!is_of_steps(row)) continue;
    auto const found = means.find({row.family, row.answer.gpu});
    if (found == means.end()) continue;
    auto const utilisation = std::exp(found->second.logarithms / found->second.count);
    row.baselines[static_cast<std::size_t>(baseline)] = in_unit(row, time_at_peak(row, is_hfu) / utilisation);
  }
}

/// Whether `one` is the same work on one node as `row` does on several.
bool is_single_node_of(ScoredStep const& one, ScoredStep const& row) {
  auto const& a = one.record->model;
  auto const& b = row.record->model;
  return is_of_steps(one) && one.is_scored && one.answer.nodes == 1 && one.family == row.family &&
         one.answer.gpu == row.answer.gpu && one.answer.is_recomputed == row.answer.is_recomputed &&
         a.parameters == b.parameters && a.sequence_length == b.sequence_length;
}

void copy_single_node(ScoredStep& row, std::vector<ScoredStep> const& rows) {
  auto const micro_batch = [](ScoredStep const& each) { return static_cast<double>(*each.record->micro_batch); };
  auto least = 0.0;
  auto const* nearest = static_cast<ScoredStep const*>(nullptr);
  for (auto const& one : rows) {
    if (!is_single_node_of(one, row)) continue;
    auto const distance = std::abs(std::log(micro_batch(one) / micro_batch(row)));
    if (nearest != nullptr && distance >= least) continue;
    nearest = &one;
    least = distance;
  }
  if (nearest == nullptr) return;
  auto const rate = nearest->answer.tokens_per_gpu / measured_time(*nearest);
  row.baselines[static_cast<std::size_t>(StepBaseline::kSingleNode)] = in_unit(row, row.answer.tokens_per_gpu / rate);
  auto const missed = measured_time(*nearest) / time_of(*nearest, *nearest->predicted);
  row.baselines[static_cast<std::size_t>(StepBaseline::kRatio)] = in_unit(row, time_of(row, *row.predicted) * missed);
}

}  // namespace

void set_baselines(std::vector<ScoredStep>& rows) {
  set_utilisation(rows, StepBaseline::kMfu);
  set_utilisation(rows, StepBaseline::kHfu);
  for (auto& row : rows)
    if (is_of_steps(row) && row.answer.nodes > 1) copy_single_node(row, rows);
}

}  // namespace twinstep::validate
