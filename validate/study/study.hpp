#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/accuracy.hpp"
#include "sim/io/document.hpp"
#include "validate/fit/cross_validation.hpp"
#include "validate/score/system_scores.hpp"

/// Measured collectives on their machines, and ways of predicting them.
namespace twinstep::study {

/// A record that cannot be predicted, and why.
struct SkippedRecord {
  validate::CollectiveRecord record;
  std::string reason;
};

struct Study {
  std::vector<validate::CollectiveRecord> records;  ///< that `cases` refer to
  std::vector<validate::CollectiveCase> cases;
  std::vector<SkippedRecord> skipped;
  std::vector<std::string> warnings;  ///< what is odd about the files
};

/// Builds the case of a record on `named`, or on the machine that its own facts describe.
[[nodiscard]] validate::MakeCase case_maker(std::optional<hardware::Cluster> named);

/// All records of the files, which are JSON or logs of nccl-tests. Throws InputError for one that is neither; a record
/// that has no machine is skipped. `told_ranks` took part where nothing in a log says how many.
[[nodiscard]] Study study_of(std::vector<io::Source> const& files, std::optional<hardware::Cluster> const& named,
                             std::optional<std::int64_t> told_ranks = {});

/// A way of predicting all records of a study: one entry for each.
struct Predictor {
  std::string name;
  std::vector<validate::Predictions> predictions;
  std::vector<validate::Intervals> intervals;  ///< empty where it has none
};

/// The predictions of a study's cases by the constants that they have, with their intervals.
[[nodiscard]] Predictor predict_as_is(std::string name, Study const& study);

/// Its figures over the records that count: all of the study's, if `counted` is empty.
[[nodiscard]] reports::PredictorAccuracy accuracy_of(Predictor const& predictor, Study const& study,
                                                     std::vector<bool> const& counted = {});

/// What practitioners would find odd about the records of a study on their machines, before any prediction.
[[nodiscard]] std::vector<std::string> oddities_of(Study const& study);

/// The four ranges of sizes that errors are averaged over, as reports name them.
[[nodiscard]] std::vector<std::string> names_of_sizes();

/// Which sweeps count in cross-validation.
enum class Counted : std::uint8_t {
  kAll,
  kFull  ///< 20 sizes or more, from 64 KiB or less to 64 MiB or more: what shows latencies and rates
};

/// Cross-validation by the calibration of each system of a study, a line for each way of leaving something out and one
/// for what it has to beat. As many systems at once as there are cores.
[[nodiscard]] std::vector<reports::PredictorAccuracy> cross_validate(Study const& study,
                                                                     std::optional<hardware::Cluster> const& named,
                                                                     Counted counted);

}  // namespace twinstep::study
