#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/page/page.hpp"
#include "sim/io/document.hpp"
#include "sim/io/json_writer.hpp"

/// Predictions beside measurements, as reports show them. Errors are |predicted / measured - 1|.
namespace twinstep::reports {

/// How far one way of predicting lies from the measurements, over systems that count once each.
struct PredictorAccuracy {
  std::string name;
  struct Figures {
    std::optional<double> median;
    std::optional<double> mean;
  };
  std::vector<Figures> by_size;  ///< one for each column of Accuracy::sizes
  std::int64_t systems = 0;      ///< that have a prediction at all
  std::optional<double> worst;   ///< of their errors over all sizes
  struct Intervals {
    std::int64_t points = 0;
    double inside = 0;  ///< a part of them
    double median_half_width = 0;
  };
  std::optional<Intervals> intervals;  ///< where it says in what interval a measurement would lie nine times in ten
};

/// One measured point, or a record that could not be predicted.
struct AccuracyRecord {
  std::string id;
  std::string family;
  std::optional<std::int64_t> size_bytes;
  std::optional<double> predicted;  ///< in `unit`
  std::optional<double> measured;
  std::string unit;
  bool fitted = false;  ///< the constants have seen this record
  std::optional<double> low;
  std::optional<double> high;
  std::string note;  ///< why it was left out, or what would explain it

  [[nodiscard]] std::optional<double> error() const {
    return predicted && measured ? std::optional{*predicted / *measured - 1} : std::nullopt;
  }
};

struct AccuracyFamily {
  std::string family;
  std::int64_t count = 0;    ///< records that were predicted
  std::int64_t skipped = 0;  ///< that could not be
  std::optional<double> mape;
  std::optional<double> worst;
  std::optional<double> rank_correlation;
  std::optional<double> baseline_mape;
};

struct Accuracy {
  std::string what;              ///< "96 records of 38 systems, each predicted by constants fitted without it"
  std::string group = "system";  ///< what a family is called
  std::string baseline = "own line, %";
  std::vector<std::string> sizes;  ///< "all sizes", "<= 64 KiB", …
  std::vector<PredictorAccuracy> predictors;
  std::vector<AccuracyFamily> families;
  std::vector<AccuracyRecord> records;
  std::vector<std::string> findings;  ///< what would explain records that lie far from their prediction
};

/// "4.3" of 0.043: in per cent, where a column's title says so; "–" for nothing.
[[nodiscard]] std::string error_text(std::optional<double> error);

/// The predictors, a line each.
[[nodiscard]] PageTable predictor_table(Accuracy const& accuracy);

/// How well the intervals of those hold that have any: a sentence each.
[[nodiscard]] std::vector<std::string> interval_notes(Accuracy const& accuracy);

/// {"name", "errors": [{"sizes", "median", "mean"}], "systems", "worst", "interval"}: one of "predictors".
void write_predictor(io::JsonWriter& out, Accuracy const& accuracy, PredictorAccuracy const& predictor);

/// {"what", "group", "baseline", "predictors", "families", "records", "findings"}.
[[nodiscard]] std::string accuracy_json(Accuracy const& accuracy);

/// Reads it back. Throws InputError.
[[nodiscard]] Accuracy read_accuracy(io::Node const& document);

}  // namespace twinstep::reports
