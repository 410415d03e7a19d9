#include "validate/score/step_score.hpp"

#include <fmt/format.h>

#include "validate/score/step_intervals.hpp"

namespace twinstep::validate {
namespace {

/// In seconds, tokens a second and GPU, or bytes.
std::optional<double> predicted_of(StepAnswer const& answer, StepQuantity quantity) {
  auto const seconds = [](std::optional<Seconds> time) { return time ? std::optional{time->count()} : std::nullopt; };
  auto const bytes = [](std::optional<Bytes> size) {
    return size ? std::optional{static_cast<double>(size->count())} : std::nullopt;
  };
  switch (quantity) {
    case StepQuantity::kStepTime: return seconds(answer.step_time);
    case StepQuantity::kMicroStepTime: return seconds(answer.micro_step_time);
    case StepQuantity::kTokenRate:
      return answer.step_time ? std::optional{answer.tokens_per_gpu / answer.step_time->count()} : std::nullopt;
    case StepQuantity::kPeakMemory: return bytes(answer.peak_memory);
    case StepQuantity::kModelStateMemory: return bytes(answer.model_states);
  }
  return std::nullopt;
}

void add_note(std::string& note, std::string_view text) {
  if (text.empty()) return;
  if (!note.empty()) note += "; ";
  note += text;
}

std::string note_of(ScoredStep const& row) {
  auto note = row.answer.skipped;
  for (auto const& each : row.answer.notes) add_note(note, each);
  if (row.measurement != nullptr) add_note(note, row.measurement->note);
  if (row.predicted && !row.record->is_trusted())
    add_note(note, row.record->flags.empty() ? "not scored: low confidence"
                                             : fmt::format("not scored: {}", row.record->flags.front()));
  else if (row.predicted && row.answer.is_assumed)
    add_note(note, "not scored");
  return note;
}

ScoredStep row_of(StepRecord const& record, StepMeasurement const* measurement, StepAnswer const& answer) {
  auto row = ScoredStep{.record = &record, .measurement = measurement, .answer = answer, .family = record.family};
  if (measurement != nullptr) {
    if (!is_speed(measurement->quantity) && record.measurements.size() > 1) row.family += ", memory";
    if (auto const value = predicted_of(answer, measurement->quantity)) row.predicted = *value / measurement->unit_size;
  }
  row.is_scored = row.predicted && record.is_trusted() && !answer.is_assumed;
  row.note = note_of(row);
  return row;
}

}  // namespace

std::vector<ScoredStep> score_steps(std::vector<StepRecord> const& records, StepPredictor const& predict) {
  auto rows = std::vector<ScoredStep>{};
  for (auto const& record : records) {
    auto const answer = predict(record);
    if (record.measurements.empty() || !answer.skipped.empty())
      rows.push_back(row_of(record, record.measurements.empty() ? nullptr : record.measurements.data(), answer));
    else
      for (auto const& measurement : record.measurements) rows.push_back(row_of(record, &measurement, answer));
  }
  set_baselines(rows);
  set_intervals(rows);
  return rows;
}

}  // namespace twinstep::validate
