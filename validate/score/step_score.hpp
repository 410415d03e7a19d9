#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "validate/records/step_record.hpp"

/// Predicted steps beside measured ones. Who predicts is not known here.
namespace twinstep::validate {

/// What a predictor says about a record.
struct StepAnswer {
  std::string skipped;  ///< why it cannot be replayed; then nothing else is set
  std::optional<Seconds> step_time;
  std::optional<Seconds> micro_step_time;
  std::optional<Bytes> peak_memory;
  std::optional<Bytes> model_states;
  double tokens_per_gpu = 0;  ///< of a step
  Flops model_flops;          ///< of a step on one GPU, as MFU counts them
  FlopsPerSecond peak;        ///< of the GPU, dense, in the record's precision
  std::string gpu;
  std::int64_t nodes = 1;
  bool is_recomputed = false;
  bool is_fitted = false;   ///< the constants have seen this record
  bool is_assumed = false;  ///< something that matters is not stated: shown, not scored
  std::vector<std::string> notes;
};
using StepPredictor = std::function<StepAnswer(StepRecord const&)>;

/// What has to be beaten, fitted to, or copied from, the very family that it is scored on; and what the prediction is
/// worth as a ratio of several nodes to one.
enum class StepBaseline : std::uint8_t {
  kMfu,         ///< one MFU for each GPU type of the family
  kHfu,         ///< one HFU: recomputation counts as a third more
  kSingleNode,  ///< tokens a second and GPU of the same model's row on one node, the nearest micro-batch
  kRatio        ///< that row, times what is predicted for this row over what is predicted for that one
};
inline constexpr std::size_t kStepBaselines = 4;

/// One measurement and what was predicted for it, both in the unit of its source.
struct ScoredStep {
  StepRecord const* record = nullptr;
  StepMeasurement const* measurement = nullptr;  ///< none where the record has nothing that is predicted
  StepAnswer answer;
  std::string family;  ///< the record's; memory beside a speed is one of its own
  std::optional<double> predicted;
  std::array<std::optional<double>, kStepBaselines> baselines;  ///< by StepBaseline
  std::optional<double> low;                                    ///< nine of ten measurements lie between these
  std::optional<double> high;
  bool is_scored = false;  ///< predicted, and neither doubted by its collector nor assumed
  std::string note;        ///< why it is skipped or not scored, and what stands for what

  [[nodiscard]] std::optional<double> error() const {
    return predicted ? std::optional{*predicted / measurement->value - 1} : std::nullopt;
  }
};

/// A row for each measurement of each record, in their order. Baselines and intervals come from the other rows of the
/// same family: an interval is what nine of ten factors measured / predicted lie between, this row's left out; with
/// fewer than ten, those of other families' rows that no constant has seen.
/// Costs one prediction a record.
[[nodiscard]] std::vector<ScoredStep> score_steps(std::vector<StepRecord> const& records, StepPredictor const& predict);

/// Fills the baselines of rows of speed that are predicted. One MFU (or HFU) for each family and GPU type, the
/// geometric mean over its scored rows; the row itself is among them. HFU counts 6 P and recomputation as a third more.
/// A row on several nodes copies the tokens a second and GPU of its own model on one node, where there is such a row:
/// the same parameters, sequence, GPU and recomputation, the nearest micro-batch; or multiplies what that row measured
/// by the ratio that is predicted between the two.
void set_baselines(std::vector<ScoredStep>& rows);

}  // namespace twinstep::validate
